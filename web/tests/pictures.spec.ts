// The screenshots in the README and in docs/page.md. `make pictures` writes them to docs/pictures.
import { mkdirSync } from "node:fs";
import type { Page } from "@playwright/test";
import { type Own, ownDemo } from "./own";
import { test as base, expect, settled } from "./page";

// A demo that no other test has used.
let served: Own;
const test = base.extend<{ open: (place: string) => Promise<Page> }>({
  open: async ({ page, context }, use) => {
    await served.enter(context);
    await use(async (place) => {
      await page.goto(`${served.url}/${place}`);
      await settled(page);
      return page;
    });
  },
});
test.beforeAll(async ({ browser }) => {
  served = await ownDemo(browser);
});
test.afterAll(() => served.stop());

const FOLDER = process.env.FOREWORD_PICTURES ?? `${process.env.FOREWORD_RESULTS ?? "test-results"}/pictures`;
mkdirSync(FOLDER, { recursive: true });

async function picture(page: Page, name: string): Promise<void> {
  await settled(page);
  // Wait for transitions to finish.
  await page.waitForTimeout(700);
  await page.screenshot({ path: `${FOLDER}/${name}.png` });
}

test("the prompt, for alice in private and for bob in the group", async ({ page, open }) => {
  await open("#/prompt");
  await picture(page, "prompt");
  await page.emulateMedia({ colorScheme: "dark" });
  await open("#/prompt?user=bob&situation=group");
  await expect(page.getByText("withheld").first()).toBeVisible();
  await picture(page, "prompt-group-dark");
});

test("the prompt and a turn on a phone", async ({ page, open }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open("#/prompt?user=bob&situation=group");
  await picture(page, "prompt-phone");
  await page.emulateMedia({ colorScheme: "dark" });
  await open("#/chat/bookshelf");
  await picture(page, "chat-phone-dark");
});

test("the template, with a change that is not saved", async ({ page, open }) => {
  await open("#/template");
  const editor = page.getByRole("textbox", { name: /template/i }).first();
  await editor.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("\nIt is [system:dat] in [git:branch].");
  await page.keyboard.press("Escape");
  await expect(page.getByText(/conversation/).first()).toBeVisible();
  await page.waitForTimeout(1_500);
  await picture(page, "template");
});

test("the layers of the keeper", async ({ page, open }) => {
  await open("#/layers?agent=keeper");
  await picture(page, "layers");
});

test("a chat with tools", async ({ page, open }) => {
  await open("#/chat/bookshelf");
  await picture(page, "chat");
});

test("conversations and a sender who tries it on", async ({ page, open }) => {
  await open("#/conversations");
  await picture(page, "conversations");
  await open("#/senders");
  await page.getByRole("link", { name: /mallory/ }).click();
  await picture(page, "senders");
});

test("a turn that failed, found among the others", async ({ page, open }) => {
  await open("#/trace?state=failed");
  await page.locator("main tbody a").first().click();
  await expect(page.getByText(/Failed after/).first()).toBeVisible();
  await picture(page, "trace");
});

test("costs, the cache, and how things stand", async ({ page, open }) => {
  await open("#/costs");
  await picture(page, "costs");
  await page.getByRole("heading", { name: /cache/i }).last().scrollIntoViewIfNeeded();
  await picture(page, "cache");
  await open("#/status");
  await picture(page, "status");
});
