// Lists that fail to load, in part or completely: the error, the items that stay, and the retry.
import { expect, test } from "./page";

test("a further page that does not come is asked for again, and what is shown stays", async ({ page, open }) => {
  let away = true;
  await page.route("**/api/v1/conversations?**", async (route) => {
    const second = new URL(route.request().url()).searchParams.get("after") === "two";
    if (second && away)
      return route.fulfill({
        status: 503,
        json: { code: "busy", detail: "the store is busy", help: "try again in a moment" },
      });
    const items = Array.from({ length: 100 }, (_, at) => ({
      id: `c-${second ? 100 + at : at}`,
      title: `Number ${second ? 100 + at : at}`,
      user: "alice",
      situation: "dm",
      agent: "Assistant",
      created_at: "2026-11-17T02:00:00Z",
      last_activity_at: "2026-11-17T02:00:00Z",
    }));
    await route.fulfill({ json: { items, next: second ? null : "two" } });
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
  away = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("link", { name: "Number 199" })).toBeAttached();
  await expect(page.getByRole("link", { name: "Number 0", exact: true })).toBeAttached();
  await expect(page.locator("tbody tr")).toHaveCount(200);
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("a search that is refused shows nothing of the list before it, and begins at its own first page", async ({
  page,
  open,
}) => {
  let away = true;
  await page.route("**/api/v1/conversations?**", async (route) => {
    const asks = new URL(route.request().url()).searchParams;
    const searched = asks.get("q") !== null;
    if (searched && away)
      return route.fulfill({
        status: 503,
        json: { code: "busy", detail: "the store is busy", help: "try again in a moment" },
      });
    const from = asks.get("after") === "two" ? 100 : 0;
    const items = Array.from({ length: searched && from === 0 ? 3 : 100 }, (_, at) => ({
      id: `c-${from + at}`,
      title: `${searched ? "Match" : "Number"} ${from + at}`,
      user: "alice",
      situation: "dm",
      agent: "Assistant",
      created_at: "2026-11-17T02:00:00Z",
      last_activity_at: "2026-11-17T02:00:00Z",
    }));
    await route.fulfill({ json: { items, next: searched || from > 0 ? null : "two" } });
  });
  await open("#/conversations");
  await page.getByRole("button", { name: "Show more" }).click();
  await expect(page.locator("tbody tr")).toHaveCount(200);
  await page.getByRole("searchbox").fill("match");
  await expect(page.getByRole("alert")).toContainText("The store is busy.");
  await expect(page.locator("tbody tr")).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Show more" })).toHaveCount(0);
  away = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.locator("tbody tr")).toHaveCount(3);
  await expect(page.getByRole("link", { name: "Match 0" })).toBeVisible();
});

test("who is there can't be told: the filters say so, and the list is there", async ({ page, open }) => {
  let away = true;
  const refusal = { code: "busy", detail: "the store is busy", help: "try again in a moment" };
  await page.route("**/api/v1/occasions", (route) =>
    away ? route.fulfill({ status: 503, json: refusal }) : route.continue(),
  );
  await open("#/conversations");
  await expect(page.getByRole("alert")).toContainText("The store is busy.");
  await expect(page.getByRole("table").getByRole("link").first()).toBeVisible();
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Trace" }).click();
  await expect(page.getByRole("alert")).toContainText("The store is busy.");
  await expect(page.getByRole("table").getByRole("link").first()).toBeVisible();
  away = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("alert")).toHaveCount(0);
  await expect(page.getByLabel("who")).toContainText("bob");
});
