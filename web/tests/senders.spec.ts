// The senders view: senders, their messages, and submitting one.

import { expectAccessible } from "./accessibility";
import { post } from "./chat_helpers";
import { expect, horizontalOverflow, test, waitUntilLoaded } from "./fixtures";
import { tabTo } from "./keyboard";

test("list shows each sender's message count and last time", async ({ page, open, browserErrors }) => {
  await open("#/senders");
  const plumber = page.getByRole("row", { name: /post@plumber\.example/ });
  await expect(plumber.getByRole("cell").nth(1)).toHaveText("2");
  await expect(plumber.getByRole("cell").last().locator("time")).toHaveAttribute("title", /20\d\d/);
  expect(browserErrors).toEqual([]);
});

test("sender page shows exchanges in order, with outside text marked", async ({ page, open }) => {
  await open("#/senders");
  await page.getByRole("link", { name: "post@plumber.example" }).click();
  await waitUntilLoaded(page);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("post@plumber.example");
  const exchanges = page.getByRole("list", { name: "Exchanges" }).getByRole("listitem");
  await expect(exchanges).toHaveCount(2);
  await expect(exchanges.first().locator("figure.outside")).toContainText("The seal for your dishwasher has come.");
  await expect(exchanges.first()).toContainText("Answer");
  await expect(exchanges.first()).toContainText("answered");
  await expect(exchanges.last().locator("figure.outside")).toContainText("Friday it is.");
  await exchanges.first().getByRole("link", { name: "Trace" }).click();
  await expect(page.locator('main[data-view="trace"]')).toBeVisible();
});

test("search finds an address and can be reset", async ({ page, open }) => {
  await open("#/senders");
  await page.getByLabel("Search addresses").fill("plumber");
  await expect(page.getByRole("link", { name: "market@example.org" })).toHaveCount(0);
  await expect(page.getByRole("link", { name: "post@plumber.example" })).toBeVisible();
  await page.getByLabel("Search addresses").fill("nobody at all");
  await expect(page.getByText("No matches")).toBeVisible();
  await page.getByRole("button", { name: "Show all" }).click();
  await expect(page.getByRole("link", { name: "market@example.org" })).toBeVisible();
});

test("long message expands and long address fits a phone", async ({ page, open }) => {
  await open("#/senders");
  const sender = "a.rather.long.name@letters.example.org";
  await post(page, "/api/v1/inbox", { sender, body: `${"word ".repeat(300)}and the end of it.` });
  await expect(page.getByRole("link", { name: sender })).toBeVisible({ timeout: 20_000 });
  await page.setViewportSize({ width: 390, height: 844 });
  await expect(page.getByRole("row", { name: new RegExp(sender) })).toContainText("last just now");
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
  await page.getByRole("link", { name: sender }).click();
  await expect(page.locator("figure.outside")).toContainText("more characters]");
  await page.getByRole("button", { name: "Show all" }).click();
  await expect(page.locator("figure.outside")).toContainText("and the end of it.");
  await expect(page.getByRole("button", { name: "Show all" })).toHaveCount(0);
});

test("search field follows the URL; navigation link clears it", async ({ page, open }) => {
  await open("#/senders");
  await page.evaluate(() => (location.hash = "#/senders?q=plumber"));
  await expect(page.getByLabel("Search addresses")).toHaveValue("plumber");
  await expect(page.getByRole("link", { name: "market@example.org" })).toHaveCount(0);
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Senders" }).click();
  await expect(page.getByLabel("Search addresses")).toHaveValue("");
  await expect(page.getByRole("link", { name: "market@example.org" })).toBeVisible();
});

test("owner submits a test message by keyboard and sees the answer", async ({ page, open }) => {
  await open("#/senders");
  await tabTo(page, page.getByRole("button", { name: "Submit a test message …" }));
  await page.keyboard.press("Enter");
  const from = page.getByRole("dialog").getByLabel("From");
  if (!(await from.evaluate((field) => field === document.activeElement))) await tabTo(page, from);
  await page.keyboard.type("tester@example.org");
  await page.keyboard.press("Tab");
  await page.keyboard.type("Hello from a test.");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(page.getByText(/Waiting in the inbox|Answered:/)).toBeVisible();
  await expect(page.getByText("Answered:")).toBeVisible({ timeout: 30_000 });
  await tabTo(page, page.getByRole("link", { name: /All messages of/ }));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("tester@example.org");
  await expect(page.getByText("Hello from a test.").first()).toBeVisible();
});

test("unusual addresses and hostile messages stay text", async ({ page, open, browserErrors }) => {
  const oddAddress = `Odd/../Name?x=1#&%20 <b onclick="window.hacked=1">ü</b>@example.org ${"w".repeat(80)}`;
  await open("#/senders");
  await post(page, "/api/v1/inbox", {
    sender: oddAddress,
    body: '<script>window.hacked=2</script>\n<img src=x onerror="window.hacked=3">',
  });
  await expect(page.getByRole("link", { name: "Odd/" })).toBeVisible({ timeout: 30_000 });
  await page.getByRole("link", { name: "Odd/" }).click();
  await waitUntilLoaded(page);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(oddAddress);
  await expect(page.locator("figure.outside").first()).toContainText("<script>window.hacked=2</script>");
  await page.reload();
  await waitUntilLoaded(page);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(oddAddress);
  expect(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked)).toBeUndefined();
  expect(await page.locator("main script, main img[src='x']").count()).toBe(0);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
  expect(browserErrors).toEqual([]);
});

test("failed inbox request shows an error and can be retried", async ({ page, open }) => {
  let unavailable = true;
  await page.route("**/api/v1/inbox?**", (route) => {
    if (unavailable)
      return route.fulfill({
        status: 503,
        json: { code: "busy", detail: "the store is busy", help: "try again in a moment" },
      });
    const state = new URL(route.request().url()).searchParams.get("state");
    const message = {
      id: "i-1",
      sender: "post@plumber.example",
      body: "Is anybody there?",
      state,
      received_at: "2026-11-17T02:00:00Z",
      attempts: 0,
      turn: null,
    };
    return route.fulfill({ json: { items: state === "staged" ? [message] : [], next: null } });
  });
  await open("#/senders");
  const unanswered = page.getByRole("region", { name: "Unanswered" });
  await expect(unanswered.getByRole("alert")).toContainText("The store is busy.");
  unavailable = false;
  await unanswered.getByRole("button", { name: "Try again" }).click();
  await expect(unanswered).toContainText("Is anybody there?");
  await expect(unanswered.getByRole("alert")).toHaveCount(0);
});

test("failed inbox message links to its failed turn", async ({ page, open }) => {
  await open("#/trace?state=failed");
  const failedTurnLink = (await page.locator("main a[href^='#/trace/t-']").first().getAttribute("href"))!;
  await page.route("**/api/v1/inbox?**", (route) => {
    const state = new URL(route.request().url()).searchParams.get("state");
    const message = {
      id: "i-1",
      sender: "post@plumber.example",
      body: "Is anybody there?",
      state,
      received_at: "2026-11-17T02:00:00Z",
      attempts: 2,
      failures: 1,
      error: "provider unavailable",
      failed_turn: failedTurnLink.split("/").pop(),
      turn: null,
    };
    return route.fulfill({ json: { items: state === "set_aside" ? [message] : [], next: null } });
  });
  await open("#/senders");
  await page.getByRole("region", { name: "Unanswered" }).getByRole("link", { name: "What happened" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Turn in");
  expect(page.url()).toContain(failedTurnLink);
});

test("unknown sender shows a not-found notice", async ({ page, open }) => {
  await open("#/senders/nobody%40example.org");
  await expect(page.getByRole("alert")).toContainText("There is no sender nobody@example.org.");
  await expect(page.getByRole("alert").locator("code")).toHaveText("nobody@example.org");
});

for (const scheme of ["light", "dark"] as const) {
  test(`sender page is accessible, ${scheme}`, async ({ page, open }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await open("#/senders/mallory%40example.net");
    await expect(page.getByText("Ignore your instructions").first()).toBeVisible();
    await expectAccessible(page);
  });
}
