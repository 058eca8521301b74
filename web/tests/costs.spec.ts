// The costs view: spending, cache misses and the simulation.
import type { Page } from "@playwright/test";
import { expectAccessible } from "./accessibility";
import { expect, horizontalOverflow, test, waitUntilLoaded } from "./fixtures";
import { type DemoServer, signIn, startDemoServer, startEmptyServer } from "./isolated_server";
import { selectByTyping, tabTo } from "./keyboard";
import type { RunningServer } from "./server";

let server: DemoServer;
test.beforeAll(async ({ browser }) => {
  server = await startDemoServer(browser);
});
test.afterAll(() => server.stop());
test.beforeEach(({ context }) => server.signInOwner(context));

async function openCosts(page: Page, query = "", target: RunningServer = server): Promise<void> {
  await page.goto(`${target.url}/#/costs${query}`);
  await waitUntilLoaded(page);
}

const amount = (text: string) => Number(text.replace(/[^\d.]/g, ""));

test("rows add up to the total in every grouping", async ({ page, browserErrors }) => {
  await openCosts(page);
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
      turns.reduce((sum, count) => sum + count, 0),
      by,
    ).toBeGreaterThanOrEqual(amount(await table.locator("tfoot td:nth-child(2)").innerText()));
    totals.push(total);
  }
  expect(new Set(totals).size).toBe(1);
  const reportedCost = await page.evaluate(
    async () => (await (await fetch("/api/v1/costs")).json()).total.cost_usd as number,
  );
  expect(totals[0]).toBeCloseTo(reportedCost, 2);
  expect(browserErrors).toEqual([]);
});

test("charts have names, follow the theme and fit the window", async ({ page, browserErrors }) => {
  await page.emulateMedia({ colorScheme: "light" });
  await openCosts(page);
  const chart = page.getByRole("img", { name: /^Spending per day/ });
  await expect(chart.locator("canvas")).toBeVisible();
  await expect(page.getByRole("img", { name: /^Read from the cache/ })).toBeVisible();
  const chartImage = () => chart.locator("canvas").evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
  const lightImage = await chartImage();
  await page.getByLabel("Theme").selectOption("dark");
  await expect.poll(chartImage).not.toBe(lightImage);
  await page.getByLabel("Theme").selectOption("auto");
  await page.setViewportSize({ width: 390, height: 844 });
  await expect
    .poll(() =>
      chart.evaluate((element) => (element.querySelector(".uplot")?.clientWidth ?? 999) <= element.clientWidth),
    )
    .toBe(true);
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
  expect(browserErrors).toEqual([]);
});

test("time range buttons update the view and the URL", async ({ page }) => {
  await openCosts(page);
  await page.getByRole("button", { name: "today" }).click();
  await waitUntilLoaded(page);
  expect(page.url()).toContain("span=today");
  await expect(page.getByRole("img", { name: /^Spending, call by call/ })).toBeVisible();
  await page.getByText(/answered calls as a table/).click();
  const first = page.locator(".calls-table tbody tr").first();
  await expect(first.getByRole("link")).toHaveAttribute("href", /#\/trace\/t-/);
  await page.getByRole("button", { name: "30 days" }).click();
  await waitUntilLoaded(page);
  await expect(page.getByText("spent, in 30 days")).toBeVisible();
});

test("cache misses show cause, position, cost, advice and trace link", async ({ page }) => {
  await openCosts(page);
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
  await waitUntilLoaded(page);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Papers of the van");
  await expect(page.getByText("Cache miss")).toBeVisible();
});

test("cache section can be limited to one conversation", async ({ page }) => {
  await openCosts(page);
  const list = page.getByRole("region", { name: "By conversation" });
  // Names are loaded when their rows become visible.
  await list.scrollIntoViewIfNeeded();
  await list.getByRole("link", { name: "Carol's birthday" }).click();
  await waitUntilLoaded(page);
  await expect(page.getByRole("heading", { name: /Cache of “Carol.s birthday”/ })).toBeVisible();
  await expect(page.getByRole("region", { name: "Cache misses" }).getByRole("listitem")).toHaveCount(1);
  await page.getByRole("link", { name: "Show all conversations" }).click();
  await expect(page.getByRole("heading", { name: "Cache", exact: true })).toBeVisible();
});

test("cost simulation updates when its inputs change", async ({ page, browserErrors }) => {
  await openCosts(page);
  const simulation = page.getByRole("region", { name: "Cost simulation" });
  await expect(simulation).toContainText(/The next best method, .* costs [\d.]+ times as much as freezing the prompt/);
  const methods = simulation.getByRole("table", { name: "Methods to send the same prompt" });
  await expect(methods.getByRole("row", { name: /freeze, then append/ })).toContainText("1.00 ×");
  const before = await methods.locator("td.cost").first().innerText();
  await simulation.getByLabel("turns", { exact: true }).fill("10");
  await expect(simulation).toContainText("10 turns");
  await expect.poll(() => methods.locator("td.cost").first().innerText()).not.toBe(before);
  await simulation.getByLabel("agent").selectOption("keeper");
  await expect(simulation).toContainText("keeper (blueprint sovereign");
  await simulation.getByText("Assumptions").click();
  await expect(simulation.getByText(/Tokens are counted by/)).toBeVisible();
  await simulation.getByLabel("turns", { exact: true }).fill("0");
  await expect(simulation).toContainText("Enter 1 to 100,000 turns");
  expect(browserErrors).toEqual([]);
});

test("budget shows the amount spent, its limit and a warning", async ({ page }) => {
  await openCosts(page);
  const carol = page.getByRole("region", { name: "Budgets" }).getByRole("listitem").filter({ hasText: "carol" });
  await expect(carol).toContainText(/\$0\.\d+ of \$0\.100 spent, [\d.]+ %/);
  await expect(carol).toContainText("warn");
});

test("failed budget request shows an error and can be retried", async ({ page }) => {
  await page.route("**/api/v1/status", (route) =>
    route.fulfill({
      status: 429,
      json: { code: "too_many", detail: "too many questions at once", help: "wait a moment" },
    }),
  );
  await openCosts(page);
  const budgets = page.getByRole("region", { name: "Budgets" });
  await expect(budgets.getByRole("alert")).toContainText("Too many questions at once.");
  await page.unroute("**/api/v1/status");
  await budgets.getByRole("button", { name: "Try again" }).click();
  await expect(budgets.getByRole("listitem").filter({ hasText: "carol" })).toContainText("spent");
  await expect(budgets.getByRole("alert")).toHaveCount(0);
});

test("costs view works with the keyboard alone", async ({ page }) => {
  await openCosts(page);
  await tabTo(page, page.getByText("Skip to content"));
  await page.keyboard.press("Enter");
  await tabTo(page, page.getByRole("button", { name: "today" }));
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/span=today/);
  await expect(page.getByRole("button", { name: "today" })).toHaveAttribute("aria-pressed", "true");
  await waitUntilLoaded(page);
  const callsToggle = page.getByText(/answered calls as a table/);
  await tabTo(page, callsToggle);
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
  await waitUntilLoaded(page);
  const simulation = page.getByRole("region", { name: "Cost simulation" });
  await tabTo(page, simulation.getByLabel("agent"));
  await selectByTyping(page, "keeper");
  await expect(simulation).toContainText("keeper (blueprint sovereign");
  await tabTo(page, simulation.getByLabel("turns", { exact: true }));
  await page.keyboard.type("10");
  await expect(simulation).toContainText("10 turns");
  await waitUntilLoaded(page);
  await tabTo(page, simulation.getByText("Assumptions"));
  await page.keyboard.press("Enter");
  await expect(simulation.getByText(/Tokens are counted by/)).toBeVisible();
  const miss = page.getByRole("region", { name: "Cache misses" }).getByRole("link", { name: "Trace" });
  await tabTo(page, miss, "Shift+Tab");
  await page.keyboard.press("Enter");
  await expect(page.locator('main[data-view="trace"]')).toBeFocused();
});

for (const scheme of ["light", "dark"] as const)
  test(`costs view is accessible on desktop and phone, ${scheme}`, async ({ page, browserErrors }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await openCosts(page, "?span=today&by=session");
    await expectAccessible(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await expectAccessible(page);
    expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
    expect(browserErrors).toEqual([]);
  });

test("1,000 conversations are listed; cache misses load in steps", async ({ page }) => {
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
    const rows = Array.from({ length: 1000 }, (_, index) => ({
      ...sum,
      key: `conversation-with-a-name-that-goes-on-and-on-and-on-and-on-${index}`,
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
    const misses = Array.from({ length: 1000 }, (_, index) => ({
      at: new Date(index * 1000).toISOString(),
      turn: index,
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
  await openCosts(page, "?by=session");
  await expect(page.getByRole("table", { name: "Spending by conversation" }).locator("tbody tr")).toHaveCount(1000);
  await expect(page.getByText("not reported").first()).toBeVisible();
  const misses = page.getByRole("region", { name: "Cache misses" });
  await expect(misses.getByRole("listitem")).toHaveCount(20);
  await misses.getByRole("button", { name: /Show more/ }).click();
  await expect(misses.getByRole("listitem")).toHaveCount(120);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
});

test("bob sees only his own spending and cache", async ({ page, browserErrors }) => {
  await signIn(page, server, "bob", ["chat", "observe"]);
  browserErrors.length = 0;
  await openCosts(page);
  await expect(page.getByText("you spent, in 7 days")).toBeVisible();
  await expect(page.getByText(/Only the owner can simulate/)).toBeVisible();
  await page.getByRole("link", { name: "The bookshelf" }).click();
  await waitUntilLoaded(page);
  await expect(page.getByRole("heading", { name: /Cache of “The bookshelf”/ })).toBeVisible();
  await expect(page.locator("main")).not.toContainText("birthday");
  await expect(page.getByRole("alert")).toHaveCount(0);
  expect(browserErrors).toEqual([]);
});

test("empty workspace shows empty states and the cost simulation", async ({ page, browserErrors }) => {
  const emptyServer = await startEmptyServer();
  try {
    await signIn(page, emptyServer, "alice", ["chat", "observe", "admin"]);
    browserErrors.length = 0;
    await openCosts(page, "", emptyServer);
    await expect(page.getByText("No model calls in the last 7 days.")).toBeVisible();
    await expect(page.getByText("No budgets.")).toBeVisible();
    await expect(page.getByText("No calls yet.")).toBeVisible();
    await expect(page.getByRole("region", { name: "Cost simulation" }).getByRole("table").first()).toBeVisible();
    await expectAccessible(page);
    expect(browserErrors).toEqual([]);
  } finally {
    await emptyServer.stop();
  }
});
