// The screenshots in the README and in docs/page.md. `make pictures` writes them to docs/pictures.
import { mkdirSync } from "node:fs";
import type { Page } from "@playwright/test";
import { test as base, expect, waitUntilLoaded } from "./fixtures";
import { type DemoServer, startDemoServer } from "./isolated_server";

// A demo server that no other test has changed.
let server: DemoServer;
const test = base.extend<{ open: (hash: string) => Promise<Page> }>({
  open: async ({ page, context }, use) => {
    await server.signInOwner(context);
    await use(async (hash) => {
      await page.goto(`${server.url}/${hash}`);
      await waitUntilLoaded(page);
      return page;
    });
  },
});
test.beforeAll(async ({ browser }) => {
  server = await startDemoServer(browser);
});
test.afterAll(() => server.stop());

const SCREENSHOT_DIR = process.env.FOREWORD_PICTURES ?? `${process.env.FOREWORD_RESULTS ?? "test-results"}/pictures`;
mkdirSync(SCREENSHOT_DIR, { recursive: true });

async function takeScreenshot(page: Page, name: string): Promise<void> {
  await waitUntilLoaded(page);
  // Wait for transitions to finish.
  await page.waitForTimeout(700);
  await page.screenshot({ path: `${SCREENSHOT_DIR}/${name}.png` });
}

test("prompt screenshots, in private and in the group", async ({ page, open }) => {
  await open("#/prompt");
  await takeScreenshot(page, "prompt");
  await page.emulateMedia({ colorScheme: "dark" });
  await open("#/prompt?user=bob&situation=group");
  await expect(page.getByText("withheld").first()).toBeVisible();
  await takeScreenshot(page, "prompt-group-dark");
});

test("phone screenshots of prompt and chat", async ({ page, open }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open("#/prompt?user=bob&situation=group");
  await takeScreenshot(page, "prompt-phone");
  await page.emulateMedia({ colorScheme: "dark" });
  await open("#/chat/bookshelf");
  await takeScreenshot(page, "chat-phone-dark");
});

test("template screenshot with an unsaved change", async ({ page, open }) => {
  await open("#/template");
  const editor = page.getByRole("textbox", { name: /template/i }).first();
  await editor.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("\nIt is [system:dat] in [git:branch].");
  await page.keyboard.press("Escape");
  await expect(page.getByText(/conversation/).first()).toBeVisible();
  await page.waitForTimeout(1_500);
  await takeScreenshot(page, "template");
});

test("layers screenshot of the keeper agent", async ({ page, open }) => {
  await open("#/layers?agent=keeper");
  await takeScreenshot(page, "layers");
});

test("chat screenshot with tools", async ({ page, open }) => {
  await open("#/chat/bookshelf");
  await takeScreenshot(page, "chat");
});

test("conversations and senders screenshots", async ({ page, open }) => {
  await open("#/conversations");
  await takeScreenshot(page, "conversations");
  await open("#/senders");
  await page.getByRole("link", { name: /mallory/ }).click();
  await takeScreenshot(page, "senders");
});

test("trace screenshot of a failed turn", async ({ page, open }) => {
  await open("#/trace?state=failed");
  await page.locator("main tbody a").first().click();
  await expect(page.getByText(/Failed after/).first()).toBeVisible();
  await takeScreenshot(page, "trace");
});

test("costs, cache and status screenshots", async ({ page, open }) => {
  await open("#/costs");
  await takeScreenshot(page, "costs");
  await page.getByRole("heading", { name: /cache/i }).last().scrollIntoViewIfNeeded();
  await takeScreenshot(page, "cache");
  await open("#/status");
  await takeScreenshot(page, "status");
});
