// The prompt view on small screens and with many users.
import { expect, overflow, settled, test } from "./page";

test("on a phone the stack comes first, and what else can be chosen is folded away", async ({
  page,
  open,
  troubles,
}) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open("#/prompt");
  await expect(page.getByText(/^alice, private: [\d,]+ tokens, \$[\d.]+ warm, \$[\d.]+ cold$/)).toBeInViewport();
  await expect(page.getByRole("button", { name: /Soul/ })).toBeInViewport();
  await expect(page.getByLabel("situation")).toBeHidden();
  await page.getByText("Another occasion …").click();
  await page.getByLabel("situation").selectOption("group");
  await expect(page).toHaveURL(/situation=group/);
  await expect(page.getByLabel("situation")).toBeVisible();
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  await page.setViewportSize({ width: 1280, height: 860 });
  await expect(page.getByText("Another occasion …")).toBeHidden();
  await expect(page.getByLabel("situation")).toBeVisible();
  expect(troubles).toEqual([]);
});

test("on a phone the tables of epochs and of two prompts are cards, and no column is out of sight", async ({
  page,
  open,
}) => {
  await page.setViewportSize({ width: 390, height: 844 });
  for (const [place, name] of [
    ["#/prompt?conversation=workshop", "Epochs"],
    ["#/prompt?tab=compare", "Totals of both"],
  ] as const) {
    await open(place);
    const table = page.getByRole("region", { name });
    await expect(table.getByRole("row").first()).toBeVisible();
    expect(await table.evaluate((one) => one.scrollWidth - one.clientWidth), name).toBeLessThanOrEqual(0);
  }
});

test("of thirty people six have their buttons there, and the others are folded away", async ({ page, open }) => {
  await page.route("**/api/v1/occasions", async (route) => {
    const known = await (await route.fetch()).json();
    const more = Array.from({ length: 27 }, (_, at) => ({
      name: `neighbour${at + 1}`,
      trust: "familiar",
      channels: [],
    }));
    await route.fulfill({ json: { ...known, users: [...known.users, ...more] } });
  });
  await open("#/prompt");
  await expect(page.getByRole("button", { name: /, private$/ })).toHaveCount(6);
  await page.getByText("24 more users").click();
  await expect(page.getByRole("button", { name: "neighbour27, private" })).toBeVisible();
});

test("rows that are equally high tell by their bar which layer weighs more", async ({ page, open }) => {
  await open("#/prompt");
  const bar = (name: RegExp) =>
    page
      .getByRole("button", { name })
      .evaluate((one) => Number.parseInt(getComputedStyle(one).backgroundSize.split(" ")[1] ?? "0", 10));
  expect(await bar(/^TOOLS\.md/)).toBeGreaterThan(await bar(/^IDENTITY\.md/));
  await expect(page.getByText("Small layers are at least one line high", { exact: false })).toBeVisible();
});

test("where an agent's prompt is the template, it leads there, and the template says whose it is", async ({
  page,
  open,
}) => {
  await open("#/prompt");
  await expect(page.getByRole("link", { name: "Edit the template" })).toHaveCount(0);
  await open("#/prompt?agent=scribe");
  await page.getByRole("link", { name: "Edit the template" }).click();
  await settled(page);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Template for scribe");
});
