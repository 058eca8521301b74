// Checks of every view: both themes, desktop and phone sizes, and accessibility rules.
import { mkdirSync } from "node:fs";
import { tabTo } from "./keys";
import { nothingSerious } from "./own";
import { expect, overflow, settled, test, VIEWS } from "./page";

/** The output folder of the screenshots; the documentation uses them. */
const PICTURES = process.env.FOREWORD_PICTURES ?? `${process.env.FOREWORD_RESULTS ?? "test-results"}/pictures`;
mkdirSync(PICTURES, { recursive: true });

for (const view of VIEWS) {
  for (const scheme of ["light", "dark"] as const) {
    test(`${view} at a desk, ${scheme}`, async ({ page, open, troubles }) => {
      await page.emulateMedia({ colorScheme: scheme });
      await open(`#/${view}`);
      await expect(page.locator("main h1").first()).toBeVisible();
      await page.screenshot({ path: `${PICTURES}/${view}-${scheme}.png` });
      await nothingSerious(page);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      expect(troubles).toEqual([]);
    });
  }

  test(`${view} on a phone`, async ({ page, open, troubles }) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await open(`#/${view}`);
    await page.screenshot({ path: `${PICTURES}/${view}-phone.png` });
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    await nothingSerious(page);
    expect(troubles).toEqual([]);
  });
}

test("every view is reached by the keyboard alone", async ({ page, open }) => {
  await open("#/status");
  for (const view of VIEWS) {
    const link = page.getByRole("navigation", { name: "Views" }).locator(`a[href="#/${view}"]`);
    // The skip link moves the focus to the content.
    await tabTo(page, link, view === "prompt" ? "Tab" : "Shift+Tab");
    await page.keyboard.press("Enter");
    await expect(page.locator(`main[data-view="${view}"]`)).toBeFocused();
    await settled(page);
  }
});

test("who begins with the keyboard can skip the links", async ({ page, open }) => {
  await open("#/status");
  await page.keyboard.press("Tab");
  await expect(page.getByText("Skip to content")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator("main")).toBeFocused();
});

test("an address that leads nowhere says so, and where to go", async ({ page, open }) => {
  await open("#/nonsense");
  await expect(page.getByRole("heading", { level: 1, name: "Page not found" })).toBeVisible();
  await page.getByRole("main").getByRole("link", { name: "Open the prompt view" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Prompt" })).toBeVisible();
});

test("light or dark is chosen once and kept", async ({ page, open }) => {
  await page.emulateMedia({ colorScheme: "light" });
  await open("#/prompt");
  await page.getByLabel("Theme").selectOption("dark");
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await ground();
  await page.reload();
  await settled(page);
  expect(await ground()).toBe(dark);
  await page.getByLabel("Theme").selectOption("light");
  expect(await ground()).not.toBe(dark);
});

test("the first words need a few small files and wait for nothing that the server has to think about", async ({
  page,
}) => {
  const asked: string[] = [];
  let answer = () => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  // No request is answered before the first text appears, so the text cannot depend on one.
  await page.route("**/api/**", async (route) => {
    asked.push(new URL(route.request().url()).pathname);
    await held;
    await route.continue();
  });
  const slow = await page.context().newCDPSession(page);
  await slow.send("Emulation.setCPUThrottlingRate", { rate: 4 });
  await page.goto(`${process.env.FOREWORD_PAGE}/#/prompt`, { waitUntil: "commit" });
  const painted = await page
    .waitForFunction(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime)
    .then((found) => found.jsonValue());
  await expect(page.getByText("Foreword …")).toBeVisible();
  const files = await page.evaluate(
    (painted) =>
      [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
        .map((one) => one as PerformanceResourceTiming)
        .filter((one) => one.startTime < painted && !new URL(one.name).pathname.startsWith("/api/"))
        .map((one) => ({ path: new URL(one.name).pathname, bytes: one.encodedBodySize })),
    painted ?? 0,
  );
  answer();
  await settled(page);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  // Measures requests instead of time, which depends on the machine.
  console.log(
    `      first words after ${Math.round(painted ?? 0)} ms on a processor made four times slower: ${files.length} files, ${(bytes / 1024).toFixed(1)} KB`,
  );
  expect(asked[0]).toBe("/api/v1/session");
  const paths = files.map((file) => file.path.replace(/-[\w-]{8}\./, ".")).filter((path) => path !== "/icon.svg");
  // The page, its style sheet, its entry script, and the framework, which may be a separate file.
  expect(paths).toEqual(expect.arrayContaining(["/", "/assets/index.css", "/assets/index.js"]));
  expect(paths.length).toBeLessThanOrEqual(4);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(40 * 1024);
});

test("all of the first view is light", async ({ page }) => {
  let bytes = 0;
  page.on("response", async (response) => {
    const sizes = await response
      .request()
      .sizes()
      .catch(() => undefined);
    if (/\/(assets\/|$)/.test(new URL(response.url()).pathname)) bytes += sizes?.responseBodySize ?? 0;
  });
  await page.goto(`${process.env.FOREWORD_PAGE}/#/prompt`);
  await settled(page);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(100 * 1024);
  console.log(`      the first view weighs ${(bytes / 1024).toFixed(1)} KB`);
});
