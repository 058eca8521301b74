// Keyboard navigation: moves from one tab stop to the next and never sets the focus directly.
import type { Locator, Page } from "@playwright/test";

/** More tab stops than any view has. */
const MOST = 120;

/** Presses Tab until the element has the focus. */
export async function tabTo(page: Page, to: Locator, key: "Tab" | "Shift+Tab" = "Tab"): Promise<void> {
  for (let stop = 0; stop < MOST; stop++) {
    await page.keyboard.press(key);
    if (
      (await to.count()) > 0 &&
      (await to.first().evaluate((one) => one === (one.getRootNode() as Document | ShadowRoot).activeElement))
    )
      return;
  }
  throw new Error(`${key} never came to ${to}`);
}

/** Chooses an option of the focused select by typing its first letters. */
export async function pick(page: Page, beginning: string): Promise<void> {
  await page.keyboard.type(beginning);
  await page.keyboard.press("Enter");
}
