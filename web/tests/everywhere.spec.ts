// Each view as people meet it: by day and by night, at a desk and on a phone, with a screen reader's rules.
import { mkdirSync } from "node:fs";
import AxeBuilder from "@axe-core/playwright";
import { VIEWS, expect, overflow, settled, test } from "./page";

/** Where the pictures go; those for the documentation are taken from there. */
const PICTURES = process.env.FOREWORD_PICTURES ?? `${process.env.FOREWORD_RESULTS ?? "test-results"}/pictures`;
mkdirSync(PICTURES, { recursive: true });

for (const view of VIEWS) {
  for (const scheme of ["light", "dark"] as const) {
    test(`${view} at a desk, ${scheme}`, async ({ page, open, troubles }) => {
      await page.emulateMedia({ colorScheme: scheme });
      await open(`#/${view}`);
      await expect(page.locator("main h1").first()).toBeVisible();
      await page.screenshot({ path: `${PICTURES}/${view}-${scheme}.png` });
      const found = await new AxeBuilder({ page }).analyze();
      const serious = found.violations.filter((one) => one.impact === "serious" || one.impact === "critical");
      expect(serious.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).join(", ")}`)).toEqual([]);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      expect(troubles).toEqual([]);
    });
  }

  test(`${view} on a phone`, async ({ page, open, troubles }) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await open(`#/${view}`);
    await page.screenshot({ path: `${PICTURES}/${view}-phone.png` });
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    const found = await new AxeBuilder({ page }).analyze();
    const serious = found.violations.filter((one) => one.impact === "serious" || one.impact === "critical");
    expect(serious.map((one) => one.id)).toEqual([]);
    expect(troubles).toEqual([]);
  });
}

test("every view is reached by the keyboard alone", async ({ page, open }) => {
  await open("#/status");
  for (const view of VIEWS) {
    const link = page.getByRole("navigation", { name: "Views" }).locator(`a[href="#/${view}"]`);
    await link.focus();
    await link.press("Enter");
    await expect(page.locator(`main[data-view="${view}"]`)).toBeFocused();
    await settled(page);
  }
});

test("who begins with the keyboard can skip the links", async ({ page, open }) => {
  await open("#/status");
  await page.keyboard.press("Tab");
  await expect(page.getByText("Skip to the content")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator("main")).toBeFocused();
});

test("an address that leads nowhere says so, and where to go", async ({ page, open }) => {
  await open("#/nonsense");
  await expect(page.getByRole("heading", { level: 1, name: "There is no such page" })).toBeVisible();
  await page.getByRole("main").getByRole("link", { name: "Go to the prompt" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Prompt" })).toBeVisible();
});

test("light or dark is chosen once and kept", async ({ page, open }) => {
  await page.emulateMedia({ colorScheme: "light" });
  await open("#/prompt");
  await page.getByLabel("Light or dark").selectOption("dark");
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await ground();
  await page.reload();
  await settled(page);
  expect(await ground()).toBe(dark);
  await page.getByLabel("Light or dark").selectOption("light");
  expect(await ground()).not.toBe(dark);
});

test("the first words are there within a second, and all of it is light", async ({ page }) => {
  let bytes = 0;
  page.on("response", async (response) => {
    const sizes = await response.request().sizes().catch(() => undefined);
    if (/\/(assets\/|$)/.test(new URL(response.url()).pathname)) bytes += sizes?.responseBodySize ?? 0;
  });
  await page.goto(`${process.env.FOREWORD_PAGE}/#/prompt`);
  await settled(page);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(300 * 1024);
});
