// The costs view: spending, cache misses and the simulation.
import type { Page } from "@playwright/test";
import { pick, tabTo } from "./keys";
import { nothingSerious, type Own, ownDemo, ownFresh, signIn } from "./own";
import { expect, overflow, settled, test } from "./page";
import type { Served } from "./server";

let served: Own;
test.beforeAll(async ({ browser }) => {
  served = await ownDemo(browser);
});
test.afterAll(() => served.stop());
test.beforeEach(({ context }) => served.enter(context));

async function at(page: Page, place = "", from: Served = served): Promise<void> {
  await page.goto(`${from.url}/#/costs${place}`);
  await settled(page);
}

const amount = (text: string) => Number(text.replace(/[^\d.]/g, ""));

test("whatever it is told apart by, the rows add up to the total", async ({ page, troubles }) => {
  await at(page);
  const totals: number[] = [];
  for (const by of ["day", "model", "user", "conversation", "agent"]) {
    await page.getByRole("tab", { name: `by ${by}` }).click();
    const table = page.getByRole("table", { name: `Spending by ${by}` });
    await table.waitFor();
    const costs = (await table.locator("tbody td.cost").allInnerTexts()).map(amount);
    const turns = (await table.locator("tbody tr td:nth-child(2)").allInnerTexts()).map(amount);
    const total = amount(await table.locator("tfoot td.cost").innerText());
    expect(costs.length, by).toBeGreaterThan(0);
    expect(
      costs.reduce((sum, cost) => sum + cost, 0),
      by,
    ).toBeCloseTo(total, 2);
    expect(
      turns.reduce((sum, one) => sum + one, 0),
      by,
    ).toBeGreaterThanOrEqual(amount(await table.locator("tfoot td:nth-child(2)").innerText()));
    totals.push(total);
  }
  expect(new Set(totals).size).toBe(1);
  const told = await page.evaluate(async () => (await (await fetch("/api/v1/costs")).json()).total.cost_usd as number);
  expect(totals[0]).toBeCloseTo(told, 2);
  expect(troubles).toEqual([]);
});

test("charts have a name, follow light and dark, and fit the window", async ({ page, troubles }) => {
  await page.emulateMedia({ colorScheme: "light" });
  await at(page);
  const chart = page.getByRole("img", { name: /^Spending per day/ });
  await expect(chart.locator("canvas")).toBeVisible();
  await expect(page.getByRole("img", { name: /^Read from the cache/ })).toBeVisible();
  const picture = () => chart.locator("canvas").evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
  const light = await picture();
  await page.getByLabel("Theme").selectOption("dark");
  await expect.poll(picture).not.toBe(light);
  await page.getByLabel("Theme").selectOption("auto");
  await page.setViewportSize({ width: 390, height: 844 });
  await expect
    .poll(() => chart.evaluate((one) => (one.querySelector(".uplot")?.clientWidth ?? 999) <= one.clientWidth))
    .toBe(true);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  expect(troubles).toEqual([]);
});

test("today, seven days and thirty are one click apart, and stay in the address", async ({ page }) => {
  await at(page);
  await page.getByRole("button", { name: "today" }).click();
  await settled(page);
  expect(page.url()).toContain("span=today");
  await expect(page.getByRole("img", { name: /^Spending, call by call/ })).toBeVisible();
  await page.getByText(/answered calls as a table/).click();
  const first = page.locator(".calls-table tbody tr").first();
  await expect(first.getByRole("link")).toHaveAttribute("href", /#\/trace\/t-/);
  await page.getByRole("button", { name: "30 days" }).click();
  await settled(page);
  await expect(page.getByText("spent, in 30 days")).toBeVisible();
});

test("the diagnosis names cause, place, money and what to do, and leads to the trace", async ({ page }) => {
  await at(page);
  const misses = page.getByRole("region", { name: "Cache misses" });
  const model = misses.getByRole("listitem").filter({ hasText: "The model changed" });
  await expect(model).toContainText("offline/demo-large");
  await expect(model).toContainText(/\$[\d.]+ instead of \$[\d.]+/);
  await expect(model).toContainText("Keep a conversation on one model");
  const layer = misses.getByRole("listitem").filter({ hasText: "Layer 6 was edited" });
  await expect(layer).toContainText(/layer 6 \(layer 6 v\d\), from byte \d+ on/);
  await expect(misses.getByText("The history was compacted", { exact: true })).toBeVisible();
  await expect(misses.getByText("Trust changed", { exact: true })).toBeVisible();
  await model.getByRole("link", { name: "Trace" }).click();
  await settled(page);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Papers of the van");
  await expect(page.getByText("Cache miss")).toBeVisible();
});

test("one conversation's cache can be looked at alone", async ({ page }) => {
  await at(page);
  const list = page.getByRole("region", { name: "By conversation" });
  // Names are loaded once they are visible.
  await list.scrollIntoViewIfNeeded();
  await list.getByRole("link", { name: "Carol's birthday" }).click();
  await settled(page);
  await expect(page.getByRole("heading", { name: /Cache of “Carol.s birthday”/ })).toBeVisible();
  await expect(page.getByRole("region", { name: "Cache misses" }).getByRole("listitem")).toHaveCount(1);
  await page.getByRole("link", { name: "Show all conversations" }).click();
  await expect(page.getByRole("heading", { name: "Cache", exact: true })).toBeVisible();
});

test("simulate says what the current blueprint would cost, and works it out anew for another choice", async ({
  page,
  troubles,
}) => {
  await at(page);
  const part = page.getByRole("region", { name: "Cost simulation" });
  await expect(part).toContainText(/The next best method, .* costs [\d.]+ times as much as freezing the prompt/);
  const ways = part.getByRole("table", { name: "Methods to send the same prompt" });
  await expect(ways.getByRole("row", { name: /freeze, then append/ })).toContainText("1.00 ×");
  const before = await ways.locator("td.cost").first().innerText();
  await part.getByLabel("turns", { exact: true }).fill("10");
  await expect(part).toContainText("10 turns");
  await expect.poll(() => ways.locator("td.cost").first().innerText()).not.toBe(before);
  await part.getByLabel("agent").selectOption("keeper");
  await expect(part).toContainText("keeper (blueprint sovereign");
  await part.getByText("Assumptions").click();
  await expect(part.getByText(/Tokens are counted by/)).toBeVisible();
  await part.getByLabel("turns", { exact: true }).fill("0");
  await expect(part).toContainText("Enter 1 to 100,000 turns");
  expect(troubles).toEqual([]);
});

test("budgets say how far they are, in words", async ({ page }) => {
  await at(page);
  const carol = page.getByRole("region", { name: "Budgets" }).getByRole("listitem").filter({ hasText: "carol" });
  await expect(carol).toContainText(/\$0\.\d+ of \$0\.100 spent, [\d.]+ %/);
  await expect(carol).toContainText("warn");
});

test("budgets that can't be asked for are told of, and tried again", async ({ page }) => {
  await page.route("**/api/v1/status", (route) =>
    route.fulfill({
      status: 429,
      json: { code: "too_many", detail: "too many questions at once", help: "wait a moment" },
    }),
  );
  await at(page);
  const budgets = page.getByRole("region", { name: "Budgets" });
  await expect(budgets.getByRole("alert")).toContainText("Too many questions at once.");
  await page.unroute("**/api/v1/status");
  await budgets.getByRole("button", { name: "Try again" }).click();
  await expect(budgets.getByRole("listitem").filter({ hasText: "carol" })).toContainText("spent");
  await expect(budgets.getByRole("alert")).toHaveCount(0);
});

test("by the keyboard alone: the time, what is summed up, a conversation's cache, a trace, and another bill", async ({
  page,
}) => {
  await at(page);
  await tabTo(page, page.getByText("Skip to content"));
  await page.keyboard.press("Enter");
  await tabTo(page, page.getByRole("button", { name: "today" }));
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/span=today/);
  await expect(page.getByRole("button", { name: "today" })).toHaveAttribute("aria-pressed", "true");
  await settled(page);
  const calls = page.getByText(/answered calls as a table/);
  await tabTo(page, calls);
  await page.keyboard.press("Enter");
  await expect(page.locator(".calls-table tbody tr").first()).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page.locator(".calls-table tbody tr").first()).toBeHidden();
  await tabTo(page, page.getByRole("tab", { name: "by day" }));
  await page.keyboard.press("ArrowRight");
  await expect(page.getByRole("tab", { name: "by model" })).toBeFocused();
  await expect(page.getByRole("table", { name: "Spending by model" })).toContainText("offline/demo-small");
  const cached = page.getByRole("region", { name: "By conversation" }).getByTitle("birthday");
  await tabTo(page, cached);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: /Cache of “Carol.s birthday”/ })).toBeVisible();
  await settled(page);
  const bill = page.getByRole("region", { name: "Cost simulation" });
  await tabTo(page, bill.getByLabel("agent"));
  await pick(page, "keeper");
  await expect(bill).toContainText("keeper (blueprint sovereign");
  await tabTo(page, bill.getByLabel("turns", { exact: true }));
  await page.keyboard.type("10");
  await expect(bill).toContainText("10 turns");
  await settled(page);
  await tabTo(page, bill.getByText("Assumptions"));
  await page.keyboard.press("Enter");
  await expect(bill.getByText(/Tokens are counted by/)).toBeVisible();
  const miss = page.getByRole("region", { name: "Cache misses" }).getByRole("link", { name: "Trace" });
  await tabTo(page, miss, "Shift+Tab");
  await page.keyboard.press("Enter");
  await expect(page.locator('main[data-view="trace"]')).toBeFocused();
});

for (const scheme of ["light", "dark"] as const)
  test(`all of it reads well in the ${scheme}, at a desk and on a phone`, async ({ page, troubles }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await at(page, "?span=today&by=session");
    await nothingSerious(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await nothingSerious(page);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    expect(troubles).toEqual([]);
  });

test("a thousand conversations and misses are no burden", async ({ page }) => {
  await page.route("**/api/v1/costs?**", async (route) => {
    const sum = {
      turns: 1,
      calls: 1,
      failed_calls: 0,
      unpriced_calls: 0,
      tokens_in: 10,
      tokens_out: 1,
      cache_share: null,
      cost_usd: 0.001,
      cost_usd_per_turn: 0.001,
    };
    const rows = Array.from({ length: 1000 }, (_, at) => ({
      ...sum,
      key: `conversation-with-a-name-that-goes-on-and-on-and-on-and-on-${at}`,
    }));
    await route.fulfill({
      json: {
        by: "session",
        since: "2026-11-11T00:00:00Z",
        until: "2026-11-17T02:00:00Z",
        rows,
        total: { ...sum, calls: 1000, cost_usd: 1 },
        today: sum,
      },
    });
  });
  await page.route("**/api/v1/cache?**", async (route) => {
    const misses = Array.from({ length: 1000 }, (_, at) => ({
      at: new Date(at * 1000).toISOString(),
      turn: at,
      cause: "clock",
      tokens_rewritten: 5,
      tokens_read: 1,
      cost_usd: null,
    }));
    const rate = { hit_rate: 0.5, tokens_read: 1, input_tokens: 2, calls: 1000, calls_unreported: 0 };
    await route.fulfill({
      json: {
        ...rate,
        causes: [{ cause: "clock", misses: 1000, tokens_rewritten: 5000, extra_usd: 0, unpriced: 1000 }],
        conversations: [{ ...rate, conversation: "c", misses, last_call_at: "2026-11-17T02:00:00Z" }],
        cut: true,
      },
    });
  });
  await at(page, "?by=session");
  await expect(page.getByRole("table", { name: "Spending by conversation" }).locator("tbody tr")).toHaveCount(1000);
  await expect(page.getByText("not reported").first()).toBeVisible();
  const misses = page.getByRole("region", { name: "Cache misses" });
  await expect(misses.getByRole("listitem")).toHaveCount(20);
  await misses.getByRole("button", { name: /Show more/ }).click();
  await expect(misses.getByRole("listitem")).toHaveCount(120);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await overflow(page)).toBeLessThanOrEqual(0);
});

test("bob sees what he spent himself, and the cache of a conversation of his", async ({ page, troubles }) => {
  await signIn(page, served, "bob", ["chat", "observe"]);
  troubles.length = 0;
  await at(page);
  await expect(page.getByText("you spent, in 7 days")).toBeVisible();
  await expect(page.getByText(/Only the owner can simulate/)).toBeVisible();
  await page.getByRole("link", { name: "The bookshelf" }).click();
  await settled(page);
  await expect(page.getByRole("heading", { name: /Cache of “The bookshelf”/ })).toBeVisible();
  await expect(page.locator("main")).not.toContainText("birthday");
  await expect(page.getByRole("alert")).toHaveCount(0);
  expect(troubles).toEqual([]);
});

test("where nothing was spent yet, it says what to do", async ({ page, troubles }) => {
  const fresh = await ownFresh();
  try {
    await signIn(page, fresh, "alice", ["chat", "observe", "admin"]);
    troubles.length = 0;
    await at(page, "", fresh);
    await expect(page.getByText("No model calls in the last 7 days.")).toBeVisible();
    await expect(page.getByText("No budgets.")).toBeVisible();
    await expect(page.getByText("No calls yet.")).toBeVisible();
    await expect(page.getByRole("region", { name: "Cost simulation" }).getByRole("table").first()).toBeVisible();
    await nothingSerious(page);
    expect(troubles).toEqual([]);
  } finally {
    await fresh.stop();
  }
});
