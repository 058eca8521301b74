// Markup in prompts, templates, messages and titles stays plain text everywhere.
import type { Page } from "@playwright/test";
import { expect, settled, test } from "./page";
import { post } from "./talk";

const HOSTILE = `<img src=x onerror="window.hacked=1"><script>window.hacked=2</script><svg/onload=window.hacked=3>"'><b>bold</b>`;
const MALLORY = "<b>mallory</b>";
const TURNED = "invoice\u202Efdp.exe \u2066x";
const SHOWN = "invoice⟪U+202E⟫fdp.exe ⟪U+2066⟫x";

/** A conversation with the agent that uses the template, and its turn. */
async function talkWithScribe(page: Page, words: string): Promise<{ id: string; turn: string }> {
  const { id } = await post<{ id: string }>(page, "/api/v1/conversations", { title: words, agent: "scribe" });
  await post(page, `/api/v1/conversations/${id}/messages`, { text: words });
  const turn = await page.evaluate(
    async (id) => (await (await fetch(`/api/v1/turns?session=${id}`)).json()).items[0].turn as string,
    id,
  );
  return { id, turn };
}

/**
 * Runs `then` while the template contains the text; saves it as the page would, with the cookie and from its origin.
 */
async function withTemplate(page: Page, words: string, then: () => Promise<void>): Promise<void> {
  const put = (template: string, message: string) =>
    page.evaluate(
      async ({ template, message }) => {
        const stored = await fetch("/system-prompt", {
          method: "PUT",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ template, message }),
        });
        return stored.status;
      },
      { template, message },
    );
  const before = await page.evaluate(async () => (await (await fetch("/system-prompt")).json()).template as string);
  expect(await put(`${before}\n${words}`, words.slice(0, 80))).toBe(200);
  try {
    await then();
  } finally {
    await put(before, "as before");
  }
}

/** Expands every span of a turn, so that all its fields are on the page. */
async function openSteps(page: Page): Promise<void> {
  const steps = page.locator("button[data-span]");
  for (let at = 0; at < (await steps.count()); at++) await steps.nth(at).click();
}

test("a hostile template, message, title and sender stay text in every view", async ({ page, open, troubles }) => {
  test.setTimeout(150_000);
  await open("#/prompt");
  await withTemplate(page, HOSTILE, async () => {
    const { id, turn } = await talkWithScribe(page, HOSTILE);
    await post(page, "/api/v1/inbox", { sender: MALLORY, body: HOSTILE });
    const main = page.locator("main");
    /** The view, the preparation, and the element that contains the text. */
    const places: [string, (() => Promise<unknown>)?, (() => ReturnType<Page["locator"]>)?][] = [
      [
        "#/prompt?agent=scribe",
        () => page.getByRole("button", { name: /^Template/ }).click(),
        () => page.getByLabel("Text of Template"),
      ],
      ["#/prompt?agent=scribe&tab=text", undefined, () => page.getByRole("region", { name: /^Template/ })],
      [
        "#/prompt?agent=scribe&tab=compare&against=chosen&b.agent=Assistant",
        () =>
          page
            .getByRole("list", { name: "Layers side by side" })
            .getByRole("button", { name: /Template/ })
            .click(),
        () => page.locator(".diff"),
      ],
      [`#/prompt?conversation=${id}`, undefined, () => page.getByLabel("Text of epoch 1")],
      ["#/template"],
      ["#/layers"],
      [`#/chat/${id}`, undefined, () => page.getByRole("region", { name: "Messages" })],
      ["#/conversations", undefined, () => page.getByRole("region", { name: "Conversations" })],
      [`#/conversations/${id}`, undefined, () => page.getByRole("region", { name: "Messages" })],
      ["#/senders", undefined, () => page.getByRole("region", { name: "Senders" })],
      [`#/senders/${encodeURIComponent(MALLORY)}`, undefined, () => page.locator("figure.outside").first()],
      ["#/trace", undefined, () => page.getByRole("table").first()],
      [`#/trace/${turn}`, () => openSteps(page), () => page.getByRole("heading", { level: 1 })],
      ["#/costs"],
      ["#/status"],
    ];
    for (const [place, first, within] of places) {
      await page.goto("about:blank");
      await open(place);
      await first?.();
      if (within) {
        await expect(within(), place).toContainText(
          place === "#/senders" ? MALLORY : "<script>window.hacked=2</script>",
          { timeout: 30_000 },
        );
        await expect(within(), place).toBeVisible();
      }
      expect(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked), place).toBeUndefined();
      expect(await main.locator("img[src='x'], script, svg[onload], b").count(), place).toBe(0);
    }
  });
  expect(troubles).toEqual([]);
  await settled(page);
});

test("characters that turn the direction of a text are shown, and turn nothing around them", async ({
  page,
  open,
  troubles,
}) => {
  await open("#/prompt");
  await withTemplate(page, `Look: ${TURNED}`, async () => {
    const { id, turn } = await talkWithScribe(page, `Look: ${TURNED}`);
    const places = [
      "#/conversations",
      `#/conversations/${id}`,
      `#/chat/${id}`,
      "#/trace",
      `#/trace/${turn}`,
      `#/prompt?conversation=${id}`,
      "#/prompt?agent=scribe",
      "#/prompt?agent=scribe&layer=template",
      "#/prompt?agent=scribe&tab=text",
    ];
    for (const place of places) {
      await open(place);
      if (place.includes(turn)) await openSteps(page);
      await expect(page.locator("main").getByText(SHOWN).first(), place).toBeVisible();
      expect(
        await page
          .locator("main")
          .evaluate((main) => /[\u202A-\u202E\u2066-\u2069]/.test((main as HTMLElement).innerText)),
        place,
      ).toBe(false);
    }
    // A side-by-side diff is an editor that renders its own lines.
    await open("#/prompt?agent=scribe&tab=compare&against=chosen&b.agent=Assistant");
    await page
      .getByRole("list", { name: "Layers side by side" })
      .getByRole("button", { name: /Template/ })
      .click();
    await expect(page.locator(".diff .cm-content").first()).toContainText(SHOWN);
    expect(
      await page
        .locator(".diff .cm-content")
        .first()
        .evaluate((text) => /[\u202A-\u202E\u2066-\u2069]/.test((text as HTMLElement).innerText)),
    ).toBe(false);
  });
  expect(troubles).toEqual([]);
});
