// The layout of the prompt view: phones, many users, and the size of layers.
import { expect, horizontalOverflow, test, waitUntilLoaded } from "./fixtures";

test("phone layout shows layers first and collapses the occasion controls", async ({ page, open, browserErrors }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open("#/prompt");
  await expect(page.getByText(/^alice, private: [\d,]+ tokens, \$[\d.]+ warm, \$[\d.]+ cold$/)).toBeInViewport();
  await expect(page.getByRole("button", { name: /Soul/ })).toBeInViewport();
  await expect(page.getByLabel("situation")).toBeHidden();
  await page.getByText("Another occasion …").click();
  await page.getByLabel("situation").selectOption("group");
  await expect(page).toHaveURL(/situation=group/);
  await expect(page.getByLabel("situation")).toBeVisible();
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
  await page.setViewportSize({ width: 1280, height: 860 });
  await expect(page.getByText("Another occasion …")).toBeHidden();
  await expect(page.getByLabel("situation")).toBeVisible();
  expect(browserErrors).toEqual([]);
});

test("epoch and comparison tables fit a phone", async ({ page, open }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  for (const [hash, name] of [
    ["#/prompt?conversation=workshop", "Epochs"],
    ["#/prompt?tab=compare", "Totals of both"],
  ] as const) {
    await open(hash);
    const table = page.getByRole("region", { name });
    await expect(table.getByRole("row").first()).toBeVisible();
    expect(await table.evaluate((element) => element.scrollWidth - element.clientWidth), name).toBeLessThanOrEqual(0);
  }
});

test("occasion buttons show six users and collapse the others", async ({ page, open }) => {
  await page.route("**/api/v1/occasions", async (route) => {
    const occasions = await (await route.fetch()).json();
    const extraUsers = Array.from({ length: 27 }, (_, index) => ({
      name: `neighbour${index + 1}`,
      trust: "familiar",
      channels: [],
    }));
    await route.fulfill({ json: { ...occasions, users: [...occasions.users, ...extraUsers] } });
  });
  await open("#/prompt");
  await expect(page.getByRole("button", { name: /, private$/ })).toHaveCount(6);
  await page.getByText("24 more users").click();
  await expect(page.getByRole("button", { name: "neighbour27, private" })).toBeVisible();
});

test("layer bar is larger for a layer with more tokens", async ({ page, open }) => {
  await open("#/prompt");
  const barSize = (name: RegExp) =>
    page
      .getByRole("button", { name })
      .evaluate((element) => Number.parseInt(getComputedStyle(element).backgroundSize.split(" ")[1] ?? "0", 10));
  expect(await barSize(/^TOOLS\.md/)).toBeGreaterThan(await barSize(/^IDENTITY\.md/));
  await expect(page.getByText("Small layers are at least one line high", { exact: false })).toBeVisible();
});

test("prompt built from the template links to its editor", async ({ page, open }) => {
  await open("#/prompt");
  await expect(page.getByRole("link", { name: "Edit the template" })).toHaveCount(0);
  await open("#/prompt?agent=scribe");
  await page.getByRole("link", { name: "Edit the template" }).click();
  await waitUntilLoaded(page);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Template for scribe");
});
