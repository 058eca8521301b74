// Checks of every view: both themes, desktop and phone sizes, and accessibility rules.
import { mkdirSync } from "node:fs";
import type { Request } from "@playwright/test";
import { expectAccessible } from "./accessibility";
import { expect, horizontalOverflow, test, VIEWS, waitUntilLoaded } from "./fixtures";
import { tabTo } from "./keyboard";

/** The output folder of the screenshots; the documentation uses them. */
const SCREENSHOT_DIR = process.env.FOREWORD_PICTURES ?? `${process.env.FOREWORD_RESULTS ?? "test-results"}/pictures`;
mkdirSync(SCREENSHOT_DIR, { recursive: true });

for (const view of VIEWS) {
  for (const scheme of ["light", "dark"] as const) {
    test(`${view} view is accessible on desktop, ${scheme}`, async ({ page, open, browserErrors }) => {
      await page.emulateMedia({ colorScheme: scheme });
      await open(`#/${view}`);
      await expect(page.locator("main h1").first()).toBeVisible();
      await page.screenshot({ path: `${SCREENSHOT_DIR}/${view}-${scheme}.png` });
      await expectAccessible(page);
      expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
      expect(browserErrors).toEqual([]);
    });
  }

  test(`${view} view is accessible on a phone`, async ({ page, open, browserErrors }) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await open(`#/${view}`);
    await page.screenshot({ path: `${SCREENSHOT_DIR}/${view}-phone.png` });
    expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
    await expectAccessible(page);
    expect(browserErrors).toEqual([]);
  });
}

test("all views are reachable with the keyboard alone", async ({ page, open }) => {
  await open("#/status");
  for (const view of VIEWS) {
    const link = page.getByRole("navigation", { name: "Views" }).locator(`a[href="#/${view}"]`);
    // Opening a view moves the focus to its content, which comes after the links.
    await tabTo(page, link, view === "prompt" ? "Tab" : "Shift+Tab");
    await page.keyboard.press("Enter");
    await expect(page.locator(`main[data-view="${view}"]`)).toBeFocused();
    await waitUntilLoaded(page);
  }
});

test("skip link moves the focus to the content", async ({ page, open }) => {
  await open("#/status");
  await page.keyboard.press("Tab");
  await expect(page.getByText("Skip to content")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator("main")).toBeFocused();
});

test("unknown URL shows a not-found page with a link", async ({ page, open }) => {
  await open("#/nonsense");
  await expect(page.getByRole("heading", { level: 1, name: "Page not found" })).toBeVisible();
  await page.getByRole("main").getByRole("link", { name: "Open the prompt view" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Prompt" })).toBeVisible();
});

test("theme choice survives a reload", async ({ page, open }) => {
  await page.emulateMedia({ colorScheme: "light" });
  await open("#/prompt");
  await page.getByLabel("Theme").selectOption("dark");
  const backgroundColor = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await backgroundColor();
  await page.reload();
  await waitUntilLoaded(page);
  expect(await backgroundColor()).toBe(dark);
  await page.getByLabel("Theme").selectOption("light");
  expect(await backgroundColor()).not.toBe(dark);
});

test("first paint needs few small files and no API response", async ({ page }) => {
  const apiRequests: string[] = [];
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  // Holds all API responses until the first paint, so that it cannot depend on one.
  await page.route("**/api/**", async (route) => {
    apiRequests.push(new URL(route.request().url()).pathname);
    await released;
    await route.continue();
  });
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Emulation.setCPUThrottlingRate", { rate: 4 });
  await page.goto("/#/prompt", { waitUntil: "commit" });
  const firstPaint = await page
    .waitForFunction(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime)
    .then((handle) => handle.jsonValue());
  await expect(page.getByText("Foreword …")).toBeVisible();
  const files = await page.evaluate(
    (firstPaint) =>
      [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
        .map((entry) => entry as PerformanceResourceTiming)
        .filter((entry) => entry.startTime < firstPaint && !new URL(entry.name).pathname.startsWith("/api/"))
        .map((entry) => ({ path: new URL(entry.name).pathname, bytes: entry.encodedBodySize })),
    firstPaint ?? 0,
  );
  release();
  await waitUntilLoaded(page);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  // The assertions are about files and bytes; the time depends on the machine.
  console.log(
    `      first paint after ${Math.round(firstPaint ?? 0)} ms with the CPU throttled 4x: ${files.length} files, ${(bytes / 1024).toFixed(1)} KB`,
  );
  expect(apiRequests[0]).toBe("/api/v1/session");
  const paths = files.map((file) => file.path.replace(/-[\w-]{8}\./, ".")).filter((path) => path !== "/icon.svg");
  // The page, its style sheet, its entry script, and the framework, which may be a separate file.
  expect(paths).toEqual(expect.arrayContaining(["/", "/assets/index.css", "/assets/index.js"]));
  expect(paths.length).toBeLessThanOrEqual(4);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(40 * 1024);
});

test("first view transfers less than 100 KB", async ({ page }) => {
  const files: Request[] = [];
  page.on("requestfinished", (request) => {
    if (/\/(assets\/|$)/.test(new URL(request.url()).pathname)) files.push(request);
  });
  await page.goto("/#/prompt");
  await waitUntilLoaded(page);
  const sizes = await Promise.all(files.map((request) => request.sizes()));
  const bytes = sizes.reduce((sum, size) => sum + size.responseBodySize, 0);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(100 * 1024);
  console.log(`      first view: ${(bytes / 1024).toFixed(1)} KB`);
});
