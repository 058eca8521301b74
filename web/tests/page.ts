// Shared helpers: opens a view in a signed-in browser and records browser errors.
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

export const test = base.extend<{ open: (place?: string) => Promise<Page>; troubles: string[] }>({
  /** Console errors and violations of the content security policy. */
  troubles: async ({ page }, use) => {
    const troubles: string[] = [];
    page.on("pageerror", (error) => troubles.push(String(error)));
    page.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
    await use(troubles);
  },
  open: async ({ page }, use) => {
    await use(async (place = "#/prompt") => {
      await page.goto(`${process.env.FOREWORD_PAGE}/${place}`);
      await settled(page);
      return page;
    });
  },
});

/** Waits until a view is shown and all requests are finished. */
export async function settled(page: Page): Promise<void> {
  await page.locator("main[data-view]").waitFor();
  await expect(page.locator("main .busy")).toHaveCount(0, { timeout: 15_000 });
}

/** Whether the page is wider than the window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

export { expect };
