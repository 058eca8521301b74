// The API reference at /docs.
import { expect, test } from "./fixtures";

test("signed-in user finds a route and sends it without a token", async ({ page, browserErrors }) => {
  await page.goto("/docs");
  await expect(page.getByText(/\d+ routes, version/)).toBeVisible();
  await expect(page.getByLabel("Token", { exact: true })).toBeHidden();
  await page.getByLabel("Find", { exact: true }).fill("get healthz");
  await page.getByText("/healthz").click();
  await page.getByRole("button", { name: "Send" }).first().click();
  // The response, not the example in the document, which names all fields.
  await expect(page.getByText(/^\{\s*"status": "ok"\s*\}$/)).toBeVisible();
  expect(browserErrors).toEqual([]);
});

test.describe("signed-out user", () => {
  test.use({ storageState: { cookies: [], origins: [] } });

  test("API reference asks for a token and rejects invalid ones", async ({ page }) => {
    await page.goto("/docs");
    await expect(page.getByText("Paste a token")).toBeVisible();
    await expect(page.getByLabel("Find", { exact: true })).toBeHidden();
    await page.getByLabel("Token", { exact: true }).fill("fwd_nonsense");
    await page.getByRole("button", { name: "Read" }).click();
    await expect(page.locator("#note.bad")).toBeVisible();
  });
});
