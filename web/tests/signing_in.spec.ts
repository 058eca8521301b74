// Signing in with a one-time link or a token; neither stays readable.
import { execFileSync } from "node:child_process";
import { expect, test } from "@playwright/test";
import { type Served, serve } from "./server";

test.use({ storageState: { cookies: [], origins: [] } });

let served: Served;
test.beforeAll(async () => {
  served = await serve(["serve", "--demo"]);
});
test.afterAll(async () => served.stop());

test("a stranger is asked for a token, and told where one is had", async ({ page }) => {
  await page.goto(served.url);
  await expect(page.getByLabel("Token")).toBeFocused();
  await expect(page.getByText("foreword token create")).toBeVisible();
  await page.getByLabel("Token").fill("fwd_nonsense");
  await page.getByRole("button", { name: "Open" }).click();
  await expect(page.getByRole("alert")).toContainText("Malformed token");
});

test("the link opens the page once, and nothing of it stays in the address or in reach of scripts", async ({
  page,
  browser,
}) => {
  await page.goto(served.link);
  await expect(page.getByRole("navigation", { name: "Views" })).toBeVisible();
  expect(page.url()).not.toContain("welcome");
  const kept = await page.evaluate(() => document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage }));
  expect(kept).not.toContain("fwd_");
  await page.reload();
  await expect(page.getByRole("navigation", { name: "Views" })).toBeVisible();

  const other = await (await browser.newContext()).newPage();
  await other.goto(served.link);
  await expect(other.getByRole("alert")).toContainText("it was used");
  await other.context().close();

  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByLabel("Token")).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Token")).toBeVisible();
});

test("the link works in a tab that shows the sign-in already", async ({ page }) => {
  const own = await serve(["serve", "--demo"]);
  try {
    await page.goto(own.url);
    await expect(page.getByLabel("Token")).toBeFocused();
    // Only the hash changes, so the browser does not reload.
    await page.goto(own.link);
    await expect(page.getByRole("navigation", { name: "Views" })).toBeVisible();
    expect(page.url()).not.toContain("welcome");
  } finally {
    await own.stop();
  }
});

test("bob's token opens what bob may see", async ({ page }) => {
  const made = execFileSync(
    process.env.FOREWORD_BIN ?? "../target/debug/foreword",
    ["-w", served.workspace, "--json", "token", "create", "--user", "bob"],
    { encoding: "utf8" },
  );
  const { token } = JSON.parse(made) as { token: string };
  await page.goto(served.url);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Open" }).click();
  await expect(page.getByText("inner trust")).toBeVisible();
  for (const view of ["prompt", "template", "layers", "chat", "conversations", "senders", "trace", "costs", "status"]) {
    await page.goto(`${served.url}/#/${view}`);
    await expect(page.locator(`main[data-view="${view}"] h1`).first()).toBeVisible();
  }
});
