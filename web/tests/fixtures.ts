// Shared fixtures and helpers: a demo server per worker, a signed-in browser, and the errors it reports.
import { test as base, expect, type Page } from "@playwright/test";
import { type DemoServer, startDemoServer } from "./isolated_server";

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

interface TestFixtures {
  open: (hash?: string) => Promise<Page>;
  browserErrors: string[];
}

export const test = base.extend<TestFixtures, { demoServer: DemoServer }>({
  /** Shared by the tests of a worker that change no stored data. */
  demoServer: [
    async ({ browser }, use) => {
      const server = await startDemoServer(browser);
      await use(server);
      await server.stop();
    },
    { scope: "worker" },
  ],
  baseURL: ({ demoServer }, use) => use(demoServer.url),
  storageState: ({ demoServer }, use) => use(demoServer.signedIn),
  /** Uncaught exceptions and console errors, which include violations of the content security policy. */
  browserErrors: async ({ page }, use) => {
    const browserErrors: string[] = [];
    page.on("pageerror", (error) => browserErrors.push(String(error)));
    page.on("console", (message) => message.type() === "error" && browserErrors.push(message.text()));
    await use(browserErrors);
  },
  open: async ({ page }, use) => {
    await use(async (hash = "#/prompt") => {
      await page.goto(`/${hash}`);
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
