// Lists that fail to load: the error, the items that stay, and the retry.
import { expect, test } from "./fixtures";

test("failed next page keeps the loaded items and can be retried", async ({ page, open }) => {
  let unavailable = true;
  await page.route("**/api/v1/conversations?**", async (route) => {
    const isSecondPage = new URL(route.request().url()).searchParams.get("after") === "two";
    if (isSecondPage && unavailable)
      return route.fulfill({
        status: 503,
        json: { code: "busy", detail: "the store is busy", help: "try again in a moment" },
      });
    const items = Array.from({ length: 100 }, (_, index) => ({
      id: `c-${isSecondPage ? 100 + index : index}`,
      title: `Number ${isSecondPage ? 100 + index : index}`,
      user: "alice",
      situation: "dm",
      agent: "Assistant",
      created_at: "2026-11-17T02:00:00Z",
      last_activity_at: "2026-11-17T02:00:00Z",
    }));
    await route.fulfill({ json: { items, next: isSecondPage ? null : "two" } });
  });
  await page.clock.install();
  await open("#/conversations");
  await expect(page.locator("tbody tr")).toHaveCount(100);
  await page.getByRole("button", { name: "Show more" }).click();
  await expect(page.getByRole("alert")).toContainText("The store is busy.");
  // The background refresh does not hide the error.
  await page.clock.runFor(25_000);
  await expect(page.getByRole("alert")).toContainText("The store is busy.");
  await expect(page.locator("tbody tr")).toHaveCount(100);
  unavailable = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("link", { name: "Number 199" })).toBeAttached();
  await expect(page.getByRole("link", { name: "Number 0", exact: true })).toBeAttached();
  await expect(page.locator("tbody tr")).toHaveCount(200);
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("failed search clears the list and retries from page one", async ({ page, open }) => {
  let unavailable = true;
  await page.route("**/api/v1/conversations?**", async (route) => {
    const params = new URL(route.request().url()).searchParams;
    const isSearch = params.get("q") !== null;
    if (isSearch && unavailable)
      return route.fulfill({
        status: 503,
        json: { code: "busy", detail: "the store is busy", help: "try again in a moment" },
      });
    const from = params.get("after") === "two" ? 100 : 0;
    const items = Array.from({ length: isSearch && from === 0 ? 3 : 100 }, (_, index) => ({
      id: `c-${from + index}`,
      title: `${isSearch ? "Match" : "Number"} ${from + index}`,
      user: "alice",
      situation: "dm",
      agent: "Assistant",
      created_at: "2026-11-17T02:00:00Z",
      last_activity_at: "2026-11-17T02:00:00Z",
    }));
    await route.fulfill({ json: { items, next: isSearch || from > 0 ? null : "two" } });
  });
  await open("#/conversations");
  await page.getByRole("button", { name: "Show more" }).click();
  await expect(page.locator("tbody tr")).toHaveCount(200);
  await page.getByRole("searchbox").fill("match");
  await expect(page.getByRole("alert")).toContainText("The store is busy.");
  await expect(page.locator("tbody tr")).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Show more" })).toHaveCount(0);
  unavailable = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.locator("tbody tr")).toHaveCount(3);
  await expect(page.getByRole("link", { name: "Match 0" })).toBeVisible();
});

test("failed filter request shows an error and keeps the list", async ({ page, open }) => {
  let unavailable = true;
  const problem = { code: "busy", detail: "the store is busy", help: "try again in a moment" };
  await page.route("**/api/v1/occasions", (route) =>
    unavailable ? route.fulfill({ status: 503, json: problem }) : route.continue(),
  );
  await open("#/conversations");
  await expect(page.getByRole("alert")).toContainText("The store is busy.");
  await expect(page.getByRole("table").getByRole("link").first()).toBeVisible();
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Trace" }).click();
  await expect(page.getByRole("alert")).toContainText("The store is busy.");
  await expect(page.getByRole("table").getByRole("link").first()).toBeVisible();
  unavailable = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("alert")).toHaveCount(0);
  await expect(page.getByLabel("who")).toContainText("bob");
});
