// Dialogs: when clicks and Escape close them, and when not.
import type { Page } from "@playwright/test";
import { sendMessage, waitForAnswer } from "./chat_helpers";
import { expect, test } from "./fixtures";

/** A point outside the dialog. */
const OUTSIDE = { x: 5, y: 5 };

async function openTestMessageDialog(page: Page) {
  await page.getByRole("button", { name: "Submit a test message" }).click();
  return page.getByRole("dialog");
}

test("dialog closes on an outside click, not on text selection", async ({ page, open }) => {
  await open("#/senders");
  const dialog = await openTestMessageDialog(page);
  const field = dialog.getByRole("textbox").last();
  await field.fill("a letter that took a while");
  const box = await field.boundingBox();
  await page.mouse.move((box?.x ?? 0) + 40, (box?.y ?? 0) + 10);
  await page.mouse.down();
  await page.mouse.move(OUTSIDE.x, OUTSIDE.y, { steps: 4 });
  await page.mouse.up();
  await expect(dialog).toBeVisible();
  await expect(field).toHaveValue("a letter that took a while");
  await page.mouse.click(OUTSIDE.x, OUTSIDE.y);
  await expect(dialog).toHaveCount(0);
});

test("Escape does not close a dialog while its request runs", async ({ page, open }) => {
  await open("#/chat");
  await sendMessage(page, "Remember the figs.");
  await waitForAnswer(page);
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/compact", async (route) => {
    await released;
    await route.fulfill({ status: 503, json: { code: "store_unavailable", detail: "the database is unavailable" } });
  });
  await page.getByRole("button", { name: "Compact …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Compact", exact: true }).click();
  for (let presses = 0; presses < 3; presses++) await page.keyboard.press("Escape");
  await expect(dialog.getByText("Writing the summary …")).toBeVisible();
  release();
  await expect(dialog.getByRole("alert")).toContainText("The database is unavailable.");
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await page.getByRole("button", { name: "Compact …" }).click();
  await expect(dialog).toBeVisible();
});
