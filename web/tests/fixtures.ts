// Shared fixtures and helpers: a signed-in browser, and the errors it reports.
import { test as base, expect, type Page } from "@playwright/test";

export const VIEWS = [
  "prompt",
  "template",
  "layers",
  "chat",
  "conversations",
  "senders",
  "trace",
  "costs",
  "status",
] as const;

export const test = base.extend<{ open: (hash?: string) => Promise<Page>; browserErrors: string[] }>({
  /** Uncaught exceptions and console errors, which include violations of the content security policy. */
  browserErrors: async ({ page }, use) => {
    const browserErrors: string[] = [];
    page.on("pageerror", (error) => browserErrors.push(String(error)));
    page.on("console", (message) => message.type() === "error" && browserErrors.push(message.text()));
    await use(browserErrors);
  },
  open: async ({ page }, use) => {
    await use(async (hash = "#/prompt") => {
      await page.goto(`${process.env.FOREWORD_PAGE}/${hash}`);
      await waitUntilLoaded(page);
      return page;
    });
  },
});

/** Waits until a view is visible and shows no loading indicator. */
export async function waitUntilLoaded(page: Page): Promise<void> {
  await page.locator("main[data-view]").waitFor();
  await expect(page.locator("main .busy")).toHaveCount(0, { timeout: 15_000 });
}

/** The number of pixels by which the page is wider than the window. */
export function horizontalOverflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

export { expect };
