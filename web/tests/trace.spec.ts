// The trace view: finding a failed turn and its breakdown, by mouse, by keyboard and on a phone.
import type { Page } from "@playwright/test";
import { expectAccessible } from "./accessibility";
import { expect, horizontalOverflow, test, waitUntilLoaded } from "./fixtures";
import { type DemoServer, signIn, startDemoServer, startEmptyServer } from "./isolated_server";
import { tabTo } from "./keyboard";
import type { RunningServer } from "./server";

let server: DemoServer;
test.beforeAll(async ({ browser }) => {
  server = await startDemoServer(browser);
});
test.afterAll(() => server.stop());
test.beforeEach(({ context }) => server.signInOwner(context));

async function openTrace(page: Page, path: string, target: RunningServer = server): Promise<void> {
  await page.goto(`${target.url}/#/trace${path}`);
  await waitUntilLoaded(page);
}

const rows = (page: Page) =>
  page
    .getByRole("table")
    .first()
    .getByRole("row")
    .filter({ has: page.getByRole("cell") });
const spans = (page: Page) => page.getByRole("table", { name: "Waterfall" }).locator("button[aria-expanded]");

/** Finds a turn of this conversation by its outcome, through the API. */
function findTurn(page: Page, conversation: string, state: string): Promise<string> {
  return page.evaluate(
    async ([conversation, state]) => {
      const { items } = await (await fetch(`/api/v1/turns?session=${conversation}&state=${state}&limit=1`)).json();
      return items[0].turn as string;
    },
    [conversation, state] as const,
  );
}

test("failed turn shows its error, retries and time spent", async ({ page, browserErrors }) => {
  await openTrace(page, "");
  await page.getByRole("group", { name: "Outcome" }).getByRole("button", { name: "failed" }).click();
  await waitUntilLoaded(page);
  expect(page.url()).toContain("state=failed");
  const row = rows(page).filter({ hasText: "What is due" });
  await expect(row).toHaveCount(1);
  await expect(row).toContainText("alice");
  await expect(row).toContainText("overloaded (HTTP 529)");
  await expect(row).toContainText("0 + 3 failed");
  await row.getByRole("link", { name: /overloaded/ }).click();
  await waitUntilLoaded(page);

  const summary = page.getByRole("region", { name: "Summary" });
  await expect(summary).toContainText(
    /Failed after 2 retries: overloaded \(HTTP 529\)\. [\d.]+ m?s, of which [\d.]+ m?s waiting\./,
  );
  await expect(summary).toContainText("send the message again later");
  const breakdown = page.getByRole("region", { name: "Time and cost" });
  await expect(breakdown.getByRole("row", { name: /waiting/ })).toContainText("%");
  await expect(
    page.getByRole("table", { name: "Waterfall" }).getByRole("row").filter({ hasText: "Retry delay" }),
  ).toHaveCount(2);

  await page.getByRole("link", { name: "Next turn" }).click();
  await waitUntilLoaded(page);
  await expect(summary).toContainText(/Answered/);
  await expect(summary).toContainText(/\$\d/);
  await page.goBack();
  await expect(summary).toContainText(/Failed/);
  expect(browserErrors).toEqual([]);
});

test("turn cost equals the sum of its calls", async ({ page }) => {
  await openTrace(page, "");
  const turn = await findTurn(page, "birthday", "done");
  await openTrace(page, `/${turn}`);
  const trace = await page.evaluate(async (turn) => (await fetch(`/api/v1/traces/${turn}`)).json(), turn);
  const cells = page
    .getByRole("table", { name: "Waterfall" })
    .getByRole("row")
    .filter({ hasText: "Model answered" })
    .locator("td:last-child");
  const shown = (await cells.allInnerTexts()).map((text) => Number(text.replace(/[^\d.]/g, "")));
  expect(shown.length).toBe(trace.calls);
  expect(shown.reduce((sum, cost) => sum + cost, 0)).toBeCloseTo(trace.cost_usd, 3);
});

test("waterfall works with the keyboard alone", async ({ page }) => {
  await openTrace(page, "?conversation=bookshelf");
  await tabTo(page, rows(page).filter({ hasText: "+ 2 failed" }).getByRole("rowheader").getByRole("link"));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("table", { name: "Waterfall" })).toBeVisible();
  await waitUntilLoaded(page);

  const spanTexts = await spans(page).allInnerTexts();
  expect(spanTexts.length).toBeGreaterThan(8);
  // The waterfall has one tab stop; arrow keys move within it.
  await expect(page.locator('button[data-span][tabindex="0"]')).toHaveCount(1);
  await tabTo(page, spans(page).first());
  for (let step = 0; step < 4; step++) await page.keyboard.press("ArrowDown");
  await expect(spans(page).nth(4)).toBeFocused();
  await page.keyboard.press("End");
  await expect(spans(page).last()).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(spans(page).last()).toBeFocused();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowUp");
  await expect(spans(page).first()).toBeFocused();

  const failed = spans(page).filter({ hasText: "Call failed" }).first();
  for (let step = 0; step < spanTexts.findIndex((text) => text.includes("Call failed")); step++)
    await page.keyboard.press("ArrowDown");
  await expect(failed).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(failed).toHaveAttribute("aria-expanded", "true");
  const fields = page.getByRole("table", { name: /Call failed/ });
  await expect(fields.getByRole("row", { name: /^status code/ })).toContainText("529");
  await expect(fields.getByRole("row", { name: /^delay/ })).toContainText("ms");
  await expect(fields.getByRole("row", { name: /^conversation/ })).toContainText("bookshelf");
  await page.keyboard.press("Enter");
  await expect(fields).toBeHidden();
});

test("span shows all its fields, with nested lists as tables", async ({ page }) => {
  await openTrace(page, "");
  const turn = await findTurn(page, "due-dates", "failed");
  await openTrace(page, `/${turn}`);
  await spans(page).filter({ hasText: "Prompt" }).click();
  const fields = page.getByRole("table", { name: /^Prompt/ });
  const event: Record<string, unknown> = await page.evaluate(async (turn) => {
    const { items } = await (await fetch(`/api/v1/events?turn=${turn}&type=prompt_built`)).json();
    return items[0];
  }, turn);
  const shown = await fields
    .locator("> tbody > tr > th")
    .evaluateAll((cells) => cells.map((cell) => cell.getAttribute("title")));
  const expected = [
    ...Object.keys(event).filter((name) => name !== "metadata"),
    ...Object.keys(event.metadata as object),
  ];
  expect([...shown].sort()).toEqual([...expected].sort());
  await expect(fields.getByRole("row").filter({ hasText: "workspace/TOOLS.md" }).last()).toContainText("130 tok");
});

test("bidirectional control characters in fields are shown escaped", async ({ page }) => {
  await openTrace(page, "");
  const turn = await findTurn(page, "due-dates", "failed");
  const bidiText = "invoice\u202Efdp.exe";
  await page.route(`**/api/v1/traces/${turn}**`, async (route) => {
    const trace = await (await route.fetch()).json();
    const insertBidiText = (span: { events: { error?: string; metadata?: object }[]; children: unknown[] }) => {
      for (const event of span.events)
        Object.assign(event, {
          error: bidiText,
          metadata: { query: bidiText, list: [bidiText], table: [{ id: bidiText }], pairs: { [bidiText]: bidiText } },
        });
      (span.children as (typeof span)[]).forEach(insertBidiText);
    };
    trace.spans.forEach(insertBidiText);
    await route.fulfill({ json: { ...trace, error: bidiText, node: bidiText } });
  });
  await openTrace(page, `/${turn}`);
  for (let step = 0; step < (await spans(page).count()); step++) await spans(page).nth(step).click();
  await expect(page.getByText("invoice⟪U+202E⟫fdp.exe").first()).toBeVisible();
  expect(
    await page
      .locator("main")
      .evaluate((main) => (main as HTMLElement).innerText.match(/.*[\u202A-\u202E\u2066-\u2069].*/g) ?? []),
  ).toEqual([]);
});

test("turn links to conversation and prompt; unknown turn shows a notice", async ({ page }) => {
  await openTrace(page, "");
  const turn = await findTurn(page, "due-dates", "failed");
  await openTrace(page, `/${turn}`);
  const links = page.getByRole("navigation", { name: "Links" });
  await expect(links.getByRole("link", { name: "Conversation", exact: true })).toHaveAttribute(
    "href",
    "#/conversations/due-dates",
  );
  await expect(links.getByRole("link", { name: "Prompt" })).toHaveAttribute("href", "#/prompt?conversation=due-dates");
  await openTrace(page, "/t-nowhere");
  await expect(page.getByText("Turn not found.")).toBeVisible();
  await expect(page.locator("main")).toContainText("t-nowhere");
  await expect(page.getByRole("button", { name: "Try again" })).toHaveCount(0);
  await page.getByRole("link", { name: "Show all turns" }).click();
  await expect(rows(page).first()).toBeVisible();
  // A time without a date does not identify a turn.
  await expect(rows(page).first().getByRole("rowheader").getByRole("link")).toHaveAccessibleName(/ in \S/);
});

test("turn without an answered call shows a dash as cost", async ({ page }) => {
  const reason = "no answered call, so nothing was charged";
  await openTrace(page, "?state=failed&conversation=due-dates");
  await expect(rows(page).first().getByTitle(reason)).toHaveText("–");
  await rows(page).first().getByRole("link").first().click();
  await expect(page.getByRole("region", { name: "Summary" })).toContainText(
    "No answered call, so nothing was charged.",
  );
  await expect(page.getByRole("region", { name: "Figures" }).getByTitle(reason)).toContainText("–");
  await expect(page.locator("td").and(page.getByTitle(reason))).toHaveText("–");
  await expect(page.locator("main")).not.toContainText("$0");
  for (const view of ["chat", "conversations"]) {
    await page.goto(`${page.url().split("#")[0]}#/${view}/due-dates`);
    await waitUntilLoaded(page);
    await expect(page.locator("article.answer footer").getByTitle(reason)).toHaveText("cost –");
  }
});

test("turns are filtered by user, time and conversation", async ({ page }) => {
  await openTrace(page, "");
  await page.getByLabel("who").selectOption("carol");
  await waitUntilLoaded(page);
  await expect(rows(page).first()).toContainText("carol");
  expect((await rows(page).allInnerTexts()).every((row) => row.includes("carol"))).toBe(true);
  await page.getByLabel("when").selectOption("yesterday");
  await waitUntilLoaded(page);
  await expect(page.getByText("No matching turns.")).toBeVisible();
  await page.getByRole("link", { name: "Show all turns" }).click();
  await page.getByRole("combobox", { name: "conversation" }).fill("papers of");
  await expect(page.getByRole("listbox").getByRole("option")).toHaveCount(1);
  await page.getByRole("combobox", { name: "conversation" }).press("Enter");
  await expect(page).toHaveURL(/conversation=van/);
  await waitUntilLoaded(page);
  await expect(rows(page).first()).toContainText("Papers of the van");
  expect((await rows(page).allInnerTexts()).every((row) => row.includes("Papers of the van"))).toBe(true);
  // The URL restores the same view.
  await page.reload();
  await waitUntilLoaded(page);
  await expect(page.getByRole("combobox", { name: "conversation" })).toHaveValue("Papers of the van");
});

for (const scheme of ["light", "dark"] as const)
  test(`trace is accessible on desktop and phone, ${scheme}`, async ({ page, browserErrors }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await openTrace(page, "?conversation=bookshelf");
    await rows(page).filter({ hasText: "+ 2 failed" }).getByRole("rowheader").getByRole("link").click();
    await waitUntilLoaded(page);
    await spans(page).filter({ hasText: "Prompt" }).click();
    await expectAccessible(page);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
    await expect(spans(page).filter({ hasText: "Retry delay" }).first()).toBeVisible();
    await expectAccessible(page);
    expect(browserErrors).toEqual([]);
  });

test("1,000 turns are listed without overflow", async ({ page }) => {
  await openTrace(page, "");
  await page.route("**/api/v1/turns?**", async (route) => {
    const isSecondPage = new URL(route.request().url()).searchParams.get("after") === "two";
    const items = Array.from({ length: 500 }, (_, index) => ({
      turn: `t-${isSecondPage ? 500 + index : index}`,
      session_id: `a-conversation-with-a-rather-long-name-${index}`,
      title: index % 3 ? `${"A long title ".repeat(8)}${index}` : null,
      user: "alice",
      state: index % 7 ? "done" : "failed",
      started_at: new Date(Date.UTC(2026, 10, 17) - index * 60_000).toISOString(),
      duration_ms: index * 997,
      error: index % 7 ? null : "provider unavailable",
      calls: index,
      failed_calls: index % 4,
      tokens_in: index * 12_345,
      tokens_out: index,
      cost_usd: index / 1e4,
    }));
    await route.fulfill({ json: { items, next: isSecondPage ? null : "two" } });
  });
  await page.getByRole("button", { name: "Refresh" }).click();
  await expect(rows(page)).toHaveCount(500);
  await page.getByRole("button", { name: "Show more" }).click();
  await expect(rows(page)).toHaveCount(1000);
  await expect(page.getByText("1,000 turns")).toBeVisible();
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
});

test("bob sees only turns of his own conversations", async ({ page, browserErrors }) => {
  await signIn(page, server, "bob", ["chat", "observe"]);
  browserErrors.length = 0;
  await openTrace(page, "?conversation=bookshelf");
  await expect(rows(page).first()).toContainText("The bookshelf");
  await rows(page).filter({ hasText: "+ 2 failed" }).getByRole("rowheader").getByRole("link").click();
  await waitUntilLoaded(page);
  await expect(page.getByRole("region", { name: "Summary" })).toContainText("Answered after 2 retries");
  await openTrace(page, "");
  await expect(page.locator("main")).toContainText("The bookshelf");
  await expect(page.locator("main")).not.toContainText("What is due");
  await expect(page.getByRole("alert")).toHaveCount(0);
  expect(browserErrors).toEqual([]);
});

test("empty workspace links to the chat", async ({ page }) => {
  const emptyServer = await startEmptyServer();
  try {
    await signIn(page, emptyServer, "alice", ["chat", "observe", "admin"]);
    await openTrace(page, "", emptyServer);
    await expect(page.getByText("No turns yet.")).toBeVisible();
    await expect(page.locator("main").getByRole("link", { name: "chat" })).toHaveAttribute("href", "#/chat");
    await expectAccessible(page);
  } finally {
    await emptyServer.stop();
  }
});
