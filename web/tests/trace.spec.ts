// The trace view: finding a failed turn and its breakdown, by mouse, by keyboard and on a phone.
import type { Page } from "@playwright/test";
import { tabTo } from "./keys";
import { nothingSerious, type Own, ownDemo, ownFresh, signIn } from "./own";
import { expect, overflow, settled, test } from "./page";
import type { Served } from "./server";

let served: Own;
test.beforeAll(async ({ browser }) => {
  served = await ownDemo(browser);
});
test.afterAll(() => served.stop());
test.beforeEach(({ context }) => served.enter(context));

async function at(page: Page, place: string, from: Served = served): Promise<void> {
  await page.goto(`${from.url}/#/trace${place}`);
  await settled(page);
}

const rows = (page: Page) =>
  page
    .getByRole("table")
    .first()
    .getByRole("row")
    .filter({ has: page.getByRole("cell") });
const steps = (page: Page) => page.getByRole("table", { name: "Waterfall" }).locator("button[aria-expanded]");

/** Finds a turn of this conversation by its outcome, through the API. */
function turnOf(page: Page, session: string, state: string): Promise<string> {
  return page.evaluate(
    async ([session, state]) => {
      const { items } = await (await fetch(`/api/v1/turns?session=${session}&state=${state}&limit=1`)).json();
      return items[0].turn as string;
    },
    [session, state] as const,
  );
}

test("I open yesterday's failed turn and see where the time and the money went", async ({ page, troubles }) => {
  await at(page, "");
  await page.getByRole("group", { name: "Outcome" }).getByRole("button", { name: "failed" }).click();
  await settled(page);
  expect(page.url()).toContain("state=failed");
  const row = rows(page).filter({ hasText: "What is due" });
  await expect(row).toHaveCount(1);
  await expect(row).toContainText("alice");
  await expect(row).toContainText("overloaded (HTTP 529)");
  await expect(row).toContainText("0 + 3 failed");
  await row.getByRole("link", { name: /overloaded/ }).click();
  await settled(page);

  const short = page.getByRole("region", { name: "Summary" });
  await expect(short).toContainText(
    /Failed after 2 retries: overloaded \(HTTP 529\)\. [\d.]+ m?s, of which [\d.]+ m?s waiting\./,
  );
  await expect(short).toContainText("send the message again later");
  const went = page.getByRole("region", { name: "Time and cost" });
  await expect(went.getByRole("row", { name: /waiting/ })).toContainText("%");
  await expect(
    page.getByRole("table", { name: "Waterfall" }).getByRole("row").filter({ hasText: "Retry delay" }),
  ).toHaveCount(2);

  await page.getByRole("link", { name: "Next turn" }).click();
  await settled(page);
  await expect(short).toContainText(/Answered/);
  await expect(short).toContainText(/\$\d/);
  await page.goBack();
  await expect(short).toContainText(/Failed/);
  expect(troubles).toEqual([]);
});

test("the money of a turn is the sum of its calls", async ({ page }) => {
  await at(page, "");
  const turn = await turnOf(page, "birthday", "done");
  await at(page, `/${turn}`);
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

test("the waterfall is walked and opened by the keyboard alone", async ({ page }) => {
  await at(page, "?conversation=bookshelf");
  await tabTo(page, rows(page).filter({ hasText: "+ 2 failed" }).getByRole("rowheader").getByRole("link"));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("table", { name: "Waterfall" })).toBeVisible();
  await settled(page);

  const all = await steps(page).allInnerTexts();
  expect(all.length).toBeGreaterThan(8);
  // One tab stop, arrow keys within.
  await expect(page.locator('button[data-span][tabindex="0"]')).toHaveCount(1);
  await tabTo(page, steps(page).first());
  for (let step = 0; step < 4; step++) await page.keyboard.press("ArrowDown");
  await expect(steps(page).nth(4)).toBeFocused();
  await page.keyboard.press("End");
  await expect(steps(page).last()).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(steps(page).last()).toBeFocused();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowUp");
  await expect(steps(page).first()).toBeFocused();

  const failed = steps(page).filter({ hasText: "Call failed" }).first();
  for (let step = 0; step < all.findIndex((words) => words.includes("Call failed")); step++)
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

test("every field of a span is there, with nested lists as tables", async ({ page }) => {
  await at(page, "");
  const turn = await turnOf(page, "due-dates", "failed");
  await at(page, `/${turn}`);
  await steps(page).filter({ hasText: "Prompt" }).click();
  const fields = page.getByRole("table", { name: /^Prompt/ });
  const kept: Record<string, unknown> = await page.evaluate(async (turn) => {
    const { items } = await (await fetch(`/api/v1/events?turn=${turn}&type=prompt_built`)).json();
    return items[0];
  }, turn);
  const shown = await fields
    .locator("> tbody > tr > th")
    .evaluateAll((cells) => cells.map((cell) => cell.getAttribute("title")));
  const expected = [
    ...Object.keys(kept).filter((name) => name !== "metadata"),
    ...Object.keys(kept.metadata as object),
  ];
  expect([...shown].sort()).toEqual([...expected].sort());
  await expect(fields.getByRole("row").filter({ hasText: "workspace/TOOLS.md" }).last()).toContainText("130 tok");
});

test("whatever stands in a field, it turns nothing around it and hides nothing", async ({ page }) => {
  await at(page, "");
  const turn = await turnOf(page, "due-dates", "failed");
  const turned = "invoice\u202Efdp.exe";
  await page.route(`**/api/v1/traces/${turn}**`, async (route) => {
    const trace = await (await route.fetch()).json();
    const spoil = (span: { events: { error?: string; metadata?: object }[]; children: unknown[] }) => {
      for (const event of span.events)
        Object.assign(event, {
          error: turned,
          metadata: { query: turned, list: [turned], table: [{ id: turned }], pairs: { [turned]: turned } },
        });
      (span.children as (typeof span)[]).forEach(spoil);
    };
    trace.spans.forEach(spoil);
    await route.fulfill({ json: { ...trace, error: turned, node: turned } });
  });
  await at(page, `/${turn}`);
  for (let step = 0; step < (await steps(page).count()); step++) await steps(page).nth(step).click();
  await expect(page.getByText("invoice⟪U+202E⟫fdp.exe").first()).toBeVisible();
  expect(
    await page
      .locator("main")
      .evaluate((main) => (main as HTMLElement).innerText.match(/.*[\u202A-\u202E\u2066-\u2069].*/g) ?? []),
  ).toEqual([]);
});

test("a turn leads to its conversation and its prompt, and one that is not there says so", async ({ page }) => {
  await at(page, "");
  const turn = await turnOf(page, "due-dates", "failed");
  await at(page, `/${turn}`);
  const links = page.getByRole("navigation", { name: "Links" });
  await expect(links.getByRole("link", { name: "Conversation", exact: true })).toHaveAttribute(
    "href",
    "#/conversations/due-dates",
  );
  await expect(links.getByRole("link", { name: "Prompt" })).toHaveAttribute("href", "#/prompt?conversation=due-dates");
  await at(page, "/t-nowhere");
  await expect(page.getByText("Turn not found.")).toBeVisible();
  await expect(page.locator("main")).toContainText("t-nowhere");
  await expect(page.getByRole("button", { name: "Try again" })).toHaveCount(0);
  await page.getByRole("link", { name: "Show all turns" }).click();
  await expect(rows(page).first()).toBeVisible();
  // A time without a date does not identify a turn.
  await expect(rows(page).first().getByRole("rowheader").getByRole("link")).toHaveAccessibleName(/ in \S/);
});

test("a turn without an answered call costs the same everywhere: a dash, and why", async ({ page }) => {
  const why = "no answered call, so nothing was charged";
  await at(page, "?state=failed&conversation=due-dates");
  await expect(rows(page).first().getByTitle(why)).toHaveText("–");
  await rows(page).first().getByRole("link").first().click();
  await expect(page.getByRole("region", { name: "Summary" })).toContainText(
    "No answered call, so nothing was charged.",
  );
  await expect(page.getByRole("region", { name: "Figures" }).getByTitle(why)).toContainText("–");
  await expect(page.locator("td").and(page.getByTitle(why))).toHaveText("–");
  await expect(page.locator("main")).not.toContainText("$0");
  for (const place of ["chat", "conversations"]) {
    await page.goto(`${page.url().split("#")[0]}#/${place}/due-dates`);
    await settled(page);
    await expect(page.locator("article.answer footer").getByTitle(why)).toHaveText("cost –");
  }
});

test("turns are found by who, when and which conversation", async ({ page }) => {
  await at(page, "");
  await page.getByLabel("who").selectOption("carol");
  await settled(page);
  await expect(rows(page).first()).toContainText("carol");
  expect((await rows(page).allInnerTexts()).every((row) => row.includes("carol"))).toBe(true);
  await page.getByLabel("when").selectOption("yesterday");
  await settled(page);
  await expect(page.getByText("No matching turns.")).toBeVisible();
  await page.getByRole("link", { name: "Show all turns" }).click();
  await page.getByRole("combobox", { name: "conversation" }).fill("papers of");
  await expect(page.getByRole("listbox").getByRole("option")).toHaveCount(1);
  await page.getByRole("combobox", { name: "conversation" }).press("Enter");
  await expect(page).toHaveURL(/conversation=van/);
  await settled(page);
  expect((await rows(page).allInnerTexts()).every((row) => row.includes("Papers of the van"))).toBe(true);
  // The URL restores the same view.
  await page.reload();
  await settled(page);
  await expect(page.getByRole("combobox", { name: "conversation" })).toHaveValue("Papers of the van");
});

for (const scheme of ["light", "dark"] as const)
  test(`a trace reads well in the ${scheme}, at a desk and on a phone`, async ({ page, troubles }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await at(page, "?conversation=bookshelf");
    await rows(page).filter({ hasText: "+ 2 failed" }).getByRole("rowheader").getByRole("link").click();
    await settled(page);
    await steps(page).filter({ hasText: "Prompt" }).click();
    await nothingSerious(page);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    await expect(steps(page).filter({ hasText: "Retry delay" }).first()).toBeVisible();
    await nothingSerious(page);
    expect(troubles).toEqual([]);
  });

test("a thousand turns are listed without a hitch", async ({ page }) => {
  await at(page, "");
  await page.route("**/api/v1/turns?**", async (route) => {
    const second = new URL(route.request().url()).searchParams.get("after") === "two";
    const items = Array.from({ length: 500 }, (_, at) => ({
      turn: `t-${second ? 500 + at : at}`,
      session_id: `a-conversation-with-a-rather-long-name-${at}`,
      title: at % 3 ? `${"A long title ".repeat(8)}${at}` : null,
      user: "alice",
      state: at % 7 ? "done" : "failed",
      started_at: new Date(Date.UTC(2026, 10, 17) - at * 60_000).toISOString(),
      duration_ms: at * 997,
      error: at % 7 ? null : "provider unavailable",
      calls: at,
      failed_calls: at % 4,
      tokens_in: at * 12_345,
      tokens_out: at,
      cost_usd: at / 1e4,
    }));
    await route.fulfill({ json: { items, next: second ? null : "two" } });
  });
  await page.getByRole("button", { name: "Refresh" }).click();
  await expect(rows(page)).toHaveCount(500);
  await page.getByRole("button", { name: "Show more" }).click();
  await expect(rows(page)).toHaveCount(1000);
  await expect(page.getByText("1,000 turns")).toBeVisible();
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await overflow(page)).toBeLessThanOrEqual(0);
});

test("bob sees the turns of his own conversations, and no others", async ({ page, troubles }) => {
  await signIn(page, served, "bob", ["chat", "observe"]);
  troubles.length = 0;
  await at(page, "?conversation=bookshelf");
  await expect(rows(page).first()).toContainText("The bookshelf");
  await rows(page).filter({ hasText: "+ 2 failed" }).getByRole("rowheader").getByRole("link").click();
  await settled(page);
  await expect(page.getByRole("region", { name: "Summary" })).toContainText("Answered after 2 retries");
  await at(page, "");
  await expect(page.locator("main")).toContainText("The bookshelf");
  await expect(page.locator("main")).not.toContainText("What is due");
  await expect(page.getByRole("alert")).toHaveCount(0);
  expect(troubles).toEqual([]);
});

test("where nothing has happened yet, it says what to do", async ({ page }) => {
  const fresh = await ownFresh();
  try {
    await signIn(page, fresh, "alice", ["chat", "observe", "admin"]);
    await at(page, "", fresh);
    await expect(page.getByText("No turns yet.")).toBeVisible();
    await expect(page.locator("main").getByRole("link", { name: "chat" })).toHaveAttribute("href", "#/chat");
    await nothingSerious(page);
  } finally {
    await fresh.stop();
  }
});
