// Dialogs: accidental clicks do not close them, and they show current data.
import type { Page } from "@playwright/test";
import { expect, test } from "./page";
import { answered, say } from "./talk";

/** A point outside the dialog. */
const BESIDE = { x: 5, y: 5 };

async function asking(page: Page) {
  await page.getByRole("button", { name: "Submit a test message" }).click();
  return page.getByRole("dialog");
}

test("selecting text and letting go beside the dialog does not close it; a click beside it does", async ({
  page,
  open,
}) => {
  await open("#/senders");
  const dialog = await asking(page);
  const field = dialog.getByRole("textbox").last();
  await field.fill("a letter that took a while");
  const box = await field.boundingBox();
  await page.mouse.move((box?.x ?? 0) + 40, (box?.y ?? 0) + 10);
  await page.mouse.down();
  await page.mouse.move(BESIDE.x, BESIDE.y, { steps: 4 });
  await page.mouse.up();
  await expect(dialog).toBeVisible();
  await expect(field).toHaveValue("a letter that took a while");
  await page.mouse.click(BESIDE.x, BESIDE.y);
  await expect(dialog).toHaveCount(0);
});

test("Escape, however often, does not close a dialog whose work is under way", async ({ page, open }) => {
  await open("#/chat");
  await say(page, "Remember the figs.");
  await answered(page);
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/compact", async (route) => {
    await released;
    await route.fulfill({ status: 503, json: { code: "store_unavailable", detail: "the database is away" } });
  });
  await page.getByRole("button", { name: "Compact …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Compact", exact: true }).click();
  for (let presses = 0; presses < 3; presses++) await page.keyboard.press("Escape");
  await expect(dialog.getByText("Writing the summary …")).toBeVisible();
  release();
  await expect(dialog.getByRole("alert")).toContainText("The database is away.");
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await page.getByRole("button", { name: "Compact …" }).click();
  await expect(dialog).toBeVisible();
});
