// What tests of the page begin with.
import { type Page, test as base, expect } from "@playwright/test";

export const test = base.extend<{ open: (place?: string) => Promise<Page> }>({
  open: async ({ page }, use) => {
    await use(async (place = "#/prompt") => {
      await page.goto(`${process.env.FOREWORD_PAGE}/${place}`);
      await page.locator("main[data-view]").waitFor();
      return page;
    });
  },
});

export { expect };
