// Getting around as people do who use no pointer: from one stop to the next, never by a jump that only a test could make.
import type { Locator, Page } from "@playwright/test";

/** More stops than any view has before what one looks for. */
const MOST = 120;

/** Presses Tab until the focus is there. */
export async function tabTo(page: Page, to: Locator, key: "Tab" | "Shift+Tab" = "Tab"): Promise<void> {
  for (let stop = 0; stop < MOST; stop++) {
    await page.keyboard.press(key);
    if ((await to.count()) > 0 && (await to.first().evaluate((one) => one === (one.getRootNode() as Document | ShadowRoot).activeElement))) return;
  }
  throw new Error(`${key} never came to ${to}`);
}

/** Chooses in a list that has the focus, by the beginning of a word. */
export async function pick(page: Page, beginning: string): Promise<void> {
  await page.keyboard.type(beginning);
  await page.keyboard.press("Enter");
}
