// Chat: streaming, tools, waits, questions, stopping, several pages, and lost connections.
import AxeBuilder from "@axe-core/playwright";
import { expect, overflow, settled, test } from "./page";
import { answered, answers, composer, get, here, post, say } from "./talk";

const words = (count: number) => Array.from({ length: count }, (_, at) => `word${at}`);

test("an answer appears word by word, and ends with what it took and the way to its trace", async ({
  page,
  open,
  troubles,
}) => {
  await open("#/chat");
  await say(page, `!slow 60ms\n!say ${words(40).join(" ")}`);
  const answer = answers(page).last();
  await expect(answer).toContainText("word2 ");
  const early = (await answer.innerText()).match(/word\d+/g) ?? [];
  expect(early.length).toBeLessThan(40);
  await answered(page);
  expect((await answer.innerText()).match(/word\d+/g)).toEqual(words(40));
  await expect(answer).toContainText(/[\d,]+ input tokens/);
  await expect(answer).toContainText(/\$0(\.\d+)?/);
  const conversation = await here(page);
  const messages = await get<{ items: { turn: string }[] }>(page, `/api/v1/conversations/${conversation}/messages`);
  await expect(answer.getByRole("link", { name: "Trace" })).toHaveAttribute(
    "href",
    new RegExp(`#/trace/${messages.items[0]?.turn}`),
  );
  await expect(page.getByRole("link", { name: "Prompt", exact: true }).last()).toHaveAttribute(
    "href",
    `#/prompt?conversation=${conversation}`,
  );
  await page.reload();
  await settled(page);
  await expect(answers(page)).toHaveCount(1);
  expect((await answers(page).innerText()).match(/word\d+/g)).toEqual(words(40));
  expect(troubles).toEqual([]);
});

test("a page that is opened in the middle of an answer shows all of it", async ({ page, open }) => {
  await open("#/chat");
  await say(page, `!tool foreword_status\n!then\n!slow 80ms\n!say ${words(40).join(" ")}`);
  await expect(answers(page).last()).toContainText("word5 ");
  await page.reload();
  await expect(answers(page).last()).toContainText("word7 ", { timeout: 10_000 });
  const answer = await answered(page);
  await expect(answers(page)).toHaveCount(1);
  await expect(answer.locator("details.tool")).toHaveCount(1);
  expect((await answer.innerText()).match(/word\d+/g)).toEqual(words(40));
});

test("the first words are not lost while a conversation is just being begun", async ({ page, open }) => {
  for (const pace of [0, 1, 3, 8, 20]) {
    await open("#/chat");
    await say(page, `!slow ${pace}ms\n!say ${words(25).join(" ")}`);
    const answer = await answered(page);
    expect((await answer.innerText()).match(/word\d+/g), `${pace} ms`).toEqual(words(25));
  }
});

test("the use of a tool is a line, and unfolds to what it was called with and what it gave", async ({ page, open }) => {
  await open("#/chat");
  await say(page, '!tool memory_search {"query":"quinces"}\n!tool read_file {"path":"nowhere.md"}');
  const answer = await answered(page);
  const tools = answer.locator("details.tool");
  await expect(tools).toHaveCount(2);
  await expect(tools.first().locator("summary")).toContainText("memory_search");
  await expect(tools.first().locator("summary")).toContainText("done");
  await expect(tools.last().locator("summary")).toContainText("failed");
  await expect(tools.first().getByText('"query": "quinces"')).toBeHidden();
  await tools.first().locator("summary").click();
  await expect(tools.first().getByText('"query": "quinces"')).toBeVisible();
  await tools.first().locator("summary").press("Enter");
  await expect(tools.first().getByText('"query": "quinces"')).toBeHidden();
  await tools.last().locator("summary").click();
  await expect(tools.last()).toContainText("there is no file `nowhere.md`");
});

test("what tools give from outside is marked as from outside", async ({ page, open }) => {
  await open("#/chat");
  await say(page, "!tool foreword_status");
  const answer = await answered(page);
  await answer.locator("details.tool summary").click();
  await expect(answer.locator("figure.outside").getByText("from outside")).toBeVisible();
  await expect(answer.locator("figure.outside")).toContainText("output of the tool `foreword_status`");
});

test("too many requests: it says so and counts down, and then the answer comes", async ({ page, open }) => {
  await open("#/chat");
  await say(page, "!fail 429 times=1 retry-after=4\n!say It is well.");
  await expect(page.getByText(/Rate limited\. Retrying in [34] s/).first()).toBeVisible();
  await expect(answers(page).last()).toContainText(/Retrying in [12] s/);
  const answer = await answered(page);
  await expect(answer).toContainText("It is well.");
  await expect(answer).not.toContainText("Rate limited");
});

test("a turn that fails says why, and leads to its trace", async ({ page, open }) => {
  await open("#/chat");
  await say(page, "!fail 401");
  await expect(page.getByRole("alert").first()).toContainText("Not authorised");
  await page.getByRole("link", { name: "Show trace" }).click();
  await expect(page.locator('main[data-view="trace"]')).toBeVisible();
});

for (const how of ["the button", "Escape"] as const) {
  test(`${how} stops an answer, and what was said is kept`, async ({ page, open }) => {
    await open("#/chat");
    await say(page, `!slow 100ms\n!say ${words(200).join(" ")}`);
    await expect(answers(page).last()).toContainText("word3 ");
    if (how === "Escape") await page.keyboard.press("Escape");
    else await page.getByRole("button", { name: "Stop" }).click();
    const answer = await answered(page);
    await expect(answer).toContainText(/cancelled|Stopped/);
    await expect(answer).toContainText("word2 ");
    await expect(answer).not.toContainText("word199");
    await say(page, "!say Still here.");
    await expect(answers(page).last()).toContainText("Still here.");
  });
}

test("the owner tries how it is for bob in the group, is told what that means, and it is recorded so", async ({
  page,
  open,
}) => {
  await open("#/chat");
  await expect(page.getByText("You speak as yourself (alice), in private: full trust.")).toBeVisible();
  await page.getByLabel("user").selectOption("bob");
  await page.getByLabel("situation").selectOption("group");
  await expect(page.getByText("You speak as bob, in the group: familiar trust.")).toBeVisible();
  await say(page, "Who am I?");
  await expect(await answered(page)).toContainText("I take you for bob (trust familiar)");
  await expect(page.getByText("You speak as bob, in the group: familiar trust.")).toBeVisible();
  const conversation = await here(page);
  expect(await get(page, `/api/v1/conversations/${conversation}`)).toMatchObject({
    user: "bob",
    situation: "group",
    title: "Who am I?",
  });
  await say(page, "!say again");
  await expect(answers(page).last()).toContainText("again");
  await answered(page);
  const messages = await get<{ items: { author: string; trust: string; role: string }[] }>(
    page,
    `/api/v1/conversations/${conversation}/messages`,
  );
  expect([...new Set(messages.items.map((message) => message.trust))]).toEqual(["familiar"]);
  expect([
    ...new Set(messages.items.filter((message) => message.role === "user").map((message) => message.author)),
  ]).toEqual(["bob"]);
});

test("another agent is chosen for a new conversation", async ({ page, open }) => {
  await open("#/chat");
  await page.getByLabel("agent").selectOption("scribe");
  await expect(page.getByText("You talk to scribe.")).toBeVisible();
  await say(page, "!say written");
  await expect(await answered(page)).toContainText("written");
  expect(await get(page, `/api/v1/conversations/${await here(page)}`)).toMatchObject({ agent: "scribe" });
});

test("two pages on one conversation see the same", async ({ page, open, context }) => {
  await open("#/chat");
  await say(page, "!say first");
  await answered(page);
  const other = await context.newPage();
  await other.goto(page.url());
  await settled(other);
  await expect(answers(other)).toHaveCount(1);
  await say(page, `!slow 50ms\n!say ${words(30).join(" ")}`);
  await expect(answers(other).last()).toContainText("word3 ");
  await expect(other.getByText("!slow 50ms")).toBeVisible();
  await answered(page);
  await answered(other);
  await say(other, "!say and back");
  await expect(answers(page).last()).toContainText("and back");
  await expect(page.locator(".log").getByText("!say and back")).toBeVisible();
  const read = async (from: typeof page) =>
    (await from.locator(".log-inner").innerText())
      .replace(/\d+ (s|min) ago|just now/g, "")
      .match(/word\d+|first|and back/g);
  expect(await read(other)).toEqual(await read(page));
  await other.close();
});

test("what is written without a connection waits, and is answered once when it is back", async ({
  page,
  open,
  context,
}) => {
  await open("#/chat");
  await say(page, "!say before");
  await answered(page);
  const conversation = await here(page);
  await context.setOffline(true);
  await expect(page.getByText("Connection lost. Trying again …")).toBeVisible();
  await say(page, "!say meanwhile");
  await expect(page.getByText("waiting for the connection")).toBeVisible();
  await context.setOffline(false);
  await expect(page.getByText("Connection lost.")).toBeHidden({ timeout: 15_000 });
  await expect(answers(page).last()).toContainText("meanwhile", { timeout: 15_000 });
  await answered(page);
  await expect(answers(page)).toHaveCount(2);
  const { items } = await get<{ items: { role: string }[] }>(page, `/api/v1/conversations/${conversation}/messages`);
  expect(items.filter((message) => message.role === "user")).toHaveLength(2);
});

test("a line that breaks in the middle of an answer comes back without losing a word", async ({
  page,
  open,
  context,
}) => {
  await open("#/chat");
  await say(page, `!slow 80ms\n!say ${words(60).join(" ")}`);
  await expect(answers(page).last()).toContainText("word5 ");
  await context.setOffline(true);
  await expect(page.getByText("Connection lost. Trying again …")).toBeVisible();
  await page.waitForTimeout(600);
  await context.setOffline(false);
  const answer = await answered(page);
  expect((await answer.innerText()).match(/word\d+/g)).toEqual(words(60));
});

test("what was written but not sent outlasts a reload", async ({ page, open, context }) => {
  await open("#/chat");
  await composer(page).fill("half a thought");
  await page.reload();
  await expect(composer(page)).toHaveValue("half a thought");
  await context.setOffline(true);
  await say(page, "!say kept");
  await expect(page.getByText(/waiting for the connection|sending/)).toBeVisible();
  await context.setOffline(false);
  await page.reload();
  await expect(answers(page).last()).toContainText("kept", { timeout: 15_000 });
});

test("what is said while an answer comes waits for its turn, and is answered below it", async ({ page, open }) => {
  await open("#/chat");
  await say(page, `!slow 80ms\n!say ${words(15).join(" ")}`);
  await expect(answers(page).last()).toContainText("word2 ");
  await say(page, "!say second");
  await expect(answers(page)).toHaveCount(2, { timeout: 15_000 });
  await answered(page);
  const said = (await page.locator(".log-inner").innerText()).match(/word14|second/g);
  expect(said).toEqual(["word14", "word14", "second", "second"]);
});

test("the agent asks before it does harm: no; once; for the rest of the turn", async ({ page, open }) => {
  await open("#/chat");
  await say(page, '!tool bash {"command":"echo hi"}\n!then\n!tool bash {"command":"echo harm"}');
  const question = page.getByLabel("The agent asks");
  await expect(question).toContainText("echo harm");
  await expect(question).toContainText("this turn has read output of the tool `bash`");
  await question.getByRole("button", { name: "No", exact: true }).click();
  await answered(page);
  await expect(question).toBeHidden();
  // The conversation now contains untrusted text, so the first call needs approval too.
  const chain = ["one", "two", "three"]
    .map((word) => `!tool bash {"command":"echo harmless ${word}"}`)
    .join("\n!then\n");
  await say(page, chain);
  await expect(question).toContainText("harmless one");
  await question.getByRole("button", { name: "Allow once" }).click();
  await expect(question).toContainText("harmless two");
  await question.getByRole("button", { name: "Allow for the rest of this turn" }).click();
  await expect(answers(page)).toHaveCount(2);
  await expect((await answered(page)).locator("details.tool")).toHaveCount(3);
  await expect(answers(page).last().locator("details.tool", { hasText: "done" })).toHaveCount(3);
});

test("a long conversation begins with its end; earlier messages are a button away, and nothing jumps", async ({
  page,
  open,
}) => {
  test.setTimeout(120_000);
  await open("#/chat");
  const { id } = await post<{ id: string }>(page, "/api/v1/conversations", { title: "A long one" });
  for (let at = 0; at < 36; at++)
    await post(page, `/api/v1/conversations/${id}/messages`, { text: `!say answer${at}.` });
  await open(`#/chat/${id}`);
  await expect(page.getByText("answer35.", { exact: true })).toBeInViewport();
  await expect(page.getByText("answer0.", { exact: true })).toHaveCount(0);
  const log = page.locator(".log");
  await log.evaluate((element) => (element.scrollTop = 0));
  const button = page.getByRole("button", { name: "Show earlier messages" });
  const before = await log.evaluate((element) => element.scrollHeight - element.scrollTop);
  await button.click();
  await expect(page.getByText("answer0.", { exact: true })).toHaveCount(1);
  const after = await log.evaluate((element) => element.scrollHeight - element.scrollTop);
  expect(Math.abs(after - before)).toBeLessThan(80);
  await expect(button).toHaveCount(0);
  // The scroll position stays while an answer streams.
  await log.evaluate((element) => (element.scrollTop = 200));
  await say(page, "!say at the end");
  await answered(page);
  expect(await log.evaluate((element) => element.scrollTop)).toBeLessThan(300);
  await page.getByRole("button", { name: "Jump to latest" }).click();
  await expect(page.locator("article.answer").last()).toBeInViewport();
});

test("a conversation is compacted, and what was said stays to be read", async ({ page, open }) => {
  await open("#/chat");
  await say(page, "Remember that the figs are finished.");
  await answered(page);
  await say(page, "!say more words");
  await expect(answers(page)).toHaveCount(2);
  await answered(page);
  await page.getByRole("button", { name: "Compact …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Compact", exact: true }).click();
  await expect(page.getByText(/A summary replaces \d+ messages/)).toBeVisible({ timeout: 20_000 });
  // The toast does not cover the send button.
  const note = await page.locator(".toasts").boundingBox();
  const send = await page.getByRole("button", { name: "Send" }).boundingBox();
  expect((note?.y ?? 0) + (note?.height ?? 0)).toBeLessThanOrEqual(send?.y ?? 0);
  const summary = page.getByText(/Summary: the agent reads this/);
  await expect(summary).toBeVisible();
  await expect(page.getByText(/A summary replaces \d+ messages/)).toBeHidden({ timeout: 4_000 });
  await summary.click();
  await expect(page.locator("details.digest")).toContainText("figs are finished");
  await expect(page.locator(".log").getByText("Remember that the figs are finished.", { exact: true })).toBeVisible();
});

test("hostile words stay words, and long ones do not widen the page", async ({ page, open, troubles }) => {
  await open("#/chat");
  const hostile = `<img src=x onerror="window.hacked=1"><script>window.hacked=2</script> [x](javascript:alert(1)) ${"W".repeat(600)}`;
  await say(page, `!say ${hostile}`);
  const answer = await answered(page);
  await expect(answer).toContainText("<script>window.hacked=2</script>");
  expect(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked)).toBeUndefined();
  expect(await page.locator("main img[src='x'], main script").count()).toBe(0);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  const wide = await page.locator(".log").evaluate((element) => element.scrollWidth - element.clientWidth);
  expect(wide).toBeLessThanOrEqual(0);
  expect(troubles).toEqual([]);
});

test("by keyboard alone: write, a new line, send, unfold a tool, stop", async ({ page, open }) => {
  await open("#/chat");
  for (let at = 0; at < 60 && !(await composer(page).evaluate((field) => field === document.activeElement)); at++)
    await page.keyboard.press("Tab");
  await expect(composer(page)).toBeFocused();
  await expect(page.getByText("inserts a line break")).toBeVisible();
  await page.keyboard.type("!tool foreword_status");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("!then");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("!hang");
  await expect(composer(page)).toHaveValue("!tool foreword_status\n!then\n!hang");
  await page.keyboard.press("Enter");
  await expect(composer(page)).toHaveValue("");
  await expect(composer(page)).toBeFocused();
  const tool = page.locator("details.tool").first();
  await expect(tool).toContainText("done");
  for (
    let at = 0;
    at < 10 && !(await tool.locator("summary").evaluate((line) => line === document.activeElement));
    at++
  )
    await page.keyboard.press("Shift+Tab");
  await expect(tool.locator("summary")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(tool).toHaveAttribute("open", "");
  await page.keyboard.press("Escape");
  await expect(await answered(page)).toContainText(/cancelled|Stopped/);
  // The stop button disappears with the answer; the focus returns to the composer.
  await say(page, "!hang");
  await page.getByRole("button", { name: "Stop" }).press("Enter");
  await expect(composer(page)).toBeFocused();
  await answered(page);
  await expect(composer(page)).toBeFocused();
});

test("whoever listens hears the answer once it is whole, not every word", async ({ page, open }) => {
  await open("#/chat");
  await say(page, `!slow 60ms\n!say ${words(20).join(" ")}`);
  await expect(answers(page).last()).toContainText("word5 ");
  const heard = page.locator("[data-announcer]");
  await expect(heard).not.toContainText("word");
  await answered(page);
  await expect(heard).toContainText("word19");
});

for (const scheme of ["light", "dark"] as const) {
  test(`a conversation with everything in it is readable by all, ${scheme}`, async ({ page, open }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await open("#/chat");
    await say(page, '!tool read_file {"path":"nowhere.md"}\n!tool foreword_status');
    await answered(page);
    await say(page, "!fail 401");
    await expect(answers(page)).toHaveCount(2);
    await answered(page);
    await page.locator("details.tool summary").first().click();
    const found = await new AxeBuilder({ page }).analyze();
    expect(
      found.violations
        .filter((one) => one.impact === "serious" || one.impact === "critical")
        .map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).join(", ")}`),
    ).toEqual([]);
  });
}

test("on a phone the field stays at the bottom, and the page does not move", async ({ page, open }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open("#/chat");
  await say(page, "!long 400 words");
  await answered(page);
  const field = await composer(page).boundingBox();
  expect((field?.y ?? 0) + (field?.height ?? 0)).toBeGreaterThan(740);
  expect((field?.y ?? 0) + (field?.height ?? 0)).toBeLessThanOrEqual(844);
  expect(await page.evaluate(() => document.documentElement.scrollHeight - innerHeight)).toBeLessThanOrEqual(0);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  await expect(page.getByText("Recent", { exact: true })).toBeHidden();
});
