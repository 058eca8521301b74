// Markup and bidirectional control characters in prompts, messages, titles and senders stay plain text in every view.
import type { Page } from "@playwright/test";
import { post } from "./chat_helpers";
import { expect, test, waitUntilLoaded } from "./fixtures";

const HOSTILE = `<img src=x onerror="window.hacked=1"><script>window.hacked=2</script><svg/onload=window.hacked=3>"'><b>bold</b>`;
const MALLORY = "<b>mallory</b>";
const BIDI_TEXT = "invoice\u202Efdp.exe \u2066x";
const ESCAPED_BIDI_TEXT = "invoice⟪U+202E⟫fdp.exe ⟪U+2066⟫x";

/** Starts a conversation with the agent that uses the template, and returns its id and turn. */
async function startScribeConversation(page: Page, text: string): Promise<{ id: string; turn: string }> {
  const { id } = await post<{ id: string }>(page, "/api/v1/conversations", { title: text, agent: "scribe" });
  await post(page, `/api/v1/conversations/${id}/messages`, { text: text });
  const turn = await page.evaluate(
    async (id) => (await (await fetch(`/api/v1/turns?session=${id}`)).json()).items[0].turn as string,
    id,
  );
  return { id, turn };
}

/**
 * Runs `action` while the template contains the text. Saves like the page: with its cookie and from its origin.
 */
async function withTemplate(page: Page, text: string, action: () => Promise<void>): Promise<void> {
  const saveTemplate = (template: string, message: string) =>
    page.evaluate(
      async ({ template, message }) => {
        const response = await fetch("/system-prompt", {
          method: "PUT",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ template, message }),
        });
        return response.status;
      },
      { template, message },
    );
  const before = await page.evaluate(async () => (await (await fetch("/system-prompt")).json()).template as string);
  expect(await saveTemplate(`${before}\n${text}`, text.slice(0, 80))).toBe(200);
  try {
    await action();
  } finally {
    await saveTemplate(before, "as before");
  }
}

/** Expands every span of a turn, so that all its fields are on the page. */
async function expandSpans(page: Page): Promise<void> {
  const spans = page.locator("button[data-span]");
  for (let index = 0; index < (await spans.count()); index++) await spans.nth(index).click();
}

test("markup in template, message, title and sender stays text", async ({ page, open, browserErrors }) => {
  test.setTimeout(150_000);
  await open("#/prompt");
  await withTemplate(page, HOSTILE, async () => {
    const { id, turn } = await startScribeConversation(page, HOSTILE);
    await post(page, "/api/v1/inbox", { sender: MALLORY, body: HOSTILE });
    const main = page.locator("main");
    /** The hash of the view, an optional preparation, and the element that contains the text. */
    const views: [string, (() => Promise<unknown>)?, (() => ReturnType<Page["locator"]>)?][] = [
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
      [`#/trace/${turn}`, () => expandSpans(page), () => page.getByRole("heading", { level: 1 })],
      ["#/costs"],
      ["#/status"],
    ];
    for (const [hash, prepare, locate] of views) {
      await page.goto("about:blank");
      await open(hash);
      await prepare?.();
      if (locate) {
        await expect(locate(), hash).toContainText(
          hash === "#/senders" ? MALLORY : "<script>window.hacked=2</script>",
          { timeout: 30_000 },
        );
        await expect(locate(), hash).toBeVisible();
      }
      expect(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked), hash).toBeUndefined();
      expect(await main.locator("img[src='x'], script, svg[onload], b").count(), hash).toBe(0);
    }
  });
  expect(browserErrors).toEqual([]);
  await waitUntilLoaded(page);
});

test("bidirectional control characters are shown escaped", async ({ page, open, browserErrors }) => {
  await open("#/prompt");
  await withTemplate(page, `Look: ${BIDI_TEXT}`, async () => {
    const { id, turn } = await startScribeConversation(page, `Look: ${BIDI_TEXT}`);
    const views = [
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
    for (const hash of views) {
      await open(hash);
      if (hash.includes(turn)) await expandSpans(page);
      await expect(page.locator("main").getByText(ESCAPED_BIDI_TEXT).first(), hash).toBeVisible();
      expect(
        await page
          .locator("main")
          .evaluate((main) => /[\u202A-\u202E\u2066-\u2069]/.test((main as HTMLElement).innerText)),
        hash,
      ).toBe(false);
    }
    // The side-by-side diff is an editor, which renders the lines itself.
    await open("#/prompt?agent=scribe&tab=compare&against=chosen&b.agent=Assistant");
    await page
      .getByRole("list", { name: "Layers side by side" })
      .getByRole("button", { name: /Template/ })
      .click();
    await expect(page.locator(".diff .cm-content").first()).toContainText(ESCAPED_BIDI_TEXT);
    expect(
      await page
        .locator(".diff .cm-content")
        .first()
        .evaluate((text) => /[\u202A-\u202E\u2066-\u2069]/.test((text as HTMLElement).innerText)),
    ).toBe(false);
  });
  expect(browserErrors).toEqual([]);
});
