// Words that want to be more than words: in a prompt, a template, a message, a title. They stay text wherever they are shown.
import { expect, settled, test } from "./page";

const HOSTILE = `<img src=x onerror="window.hacked=1"><script>window.hacked=2</script><svg/onload=window.hacked=3>"'><b>bold</b>`;

test("a hostile template, message and title stay text in every view", async ({ page, open, troubles }) => {
  await open("#/prompt");
  // Written as the page writes: with its cookie, from its own origin.
  const made = await page.evaluate(async (hostile) => {
    const send = async (method: string, path: string, body: unknown) => {
      const response = await fetch(path, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
      return { status: response.status, body: await response.json() };
    };
    const before = await (await fetch("/system-prompt")).json();
    const stored = await send("PUT", "/system-prompt", { template: `${before.template}\n${hostile}`, message: hostile.slice(0, 80) });
    const conversation = await send("POST", "/api/v1/conversations", { title: hostile });
    const said = await send("POST", `/api/v1/conversations/${conversation.body.id}/messages`, { text: hostile });
    await send("POST", "/api/v1/inbox", { sender: "<b>mallory</b>", body: hostile });
    return { statuses: [stored.status, conversation.status, said.status], id: conversation.body.id as string, before: before.template as string };
  }, HOSTILE);
  expect(made.statuses).toEqual([200, 201, 200]);
  const places = ["#/prompt", "#/template", "#/layers", `#/chat/${made.id}`, "#/conversations", `#/conversations/${made.id}`, "#/senders", "#/trace", "#/costs", "#/status"];
  for (const place of places) {
    await page.goto("about:blank");
    await open(place);
    expect(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked), place).toBeUndefined();
    expect(await page.locator("main img[src='x'], main script, main svg[onload]").count(), place).toBe(0);
  }
  await open(`#/conversations/${made.id}`);
  await expect(page.locator("main").getByText("window.hacked=2").first()).toBeVisible();
  expect(troubles).toEqual([]);
  await page.evaluate(async (template) => {
    await fetch("/system-prompt", { method: "PUT", headers: { "content-type": "application/json" }, body: JSON.stringify({ template, message: "as before" }) });
  }, made.before);
  await settled(page);
});

test("characters that turn the direction of a text are shown, and turn nothing around them", async ({ page, open, troubles }) => {
  await open("#/prompt");
  const turned = "invoice\u202Efdp.exe \u2066x";
  const id = await page.evaluate(async (turned) => {
    const send = (path: string, body: unknown) => fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    const { id } = await (await send("/api/v1/conversations", { title: turned })).json();
    await send(`/api/v1/conversations/${id}/messages`, { text: `Look: ${turned}` });
    return id as string;
  }, turned);
  for (const place of ["#/conversations", `#/conversations/${id}`, `#/chat/${id}`, "#/trace"]) {
    await open(place);
    await expect(page.locator("main").getByText("invoice⟪U+202E⟫fdp.exe ⟪U+2066⟫x").first(), place).toBeVisible();
    expect(await page.locator("main").evaluate((main) => /[\u202A-\u202E\u2066-\u2069]/.test((main as HTMLElement).innerText)), place).toBe(false);
  }
  expect(troubles).toEqual([]);
});
