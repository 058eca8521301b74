// Keyboard input: moves the focus with Tab, never directly.
import type { Locator, Page } from "@playwright/test";

/** Higher than the number of tab stops of any view. */
const MAX_TAB_STOPS = 120;

/** Presses Tab until the element has the focus. */
export async function tabTo(page: Page, target: Locator, key: "Tab" | "Shift+Tab" = "Tab"): Promise<void> {
  for (let stop = 0; stop < MAX_TAB_STOPS; stop++) {
    await page.keyboard.press(key);
    if (
      (await target.count()) > 0 &&
      (await target
        .first()
        .evaluate((element) => element === (element.getRootNode() as Document | ShadowRoot).activeElement))
    )
      return;
  }
  throw new Error(`${key} never reached ${target}`);
}

/** Chooses an option of the focused select by typing its first letters. */
export async function selectByTyping(page: Page, prefix: string): Promise<void> {
  await page.keyboard.type(prefix);
  await page.keyboard.press("Enter");
}

/** Accepts the selected completion. The editor ignores keys pressed too soon after the list opens. */
export async function acceptCompletion(page: Page): Promise<void> {
  await page.waitForTimeout(150);
  await page.keyboard.press("Enter");
}
