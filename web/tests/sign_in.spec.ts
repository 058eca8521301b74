// Signing in with a one-time link or a token, which scripts cannot read afterwards.
import { execFileSync } from "node:child_process";
import { expect, test } from "@playwright/test";
import { type RunningServer, startServer } from "./server";

test.use({ storageState: { cookies: [], origins: [] } });

let server: RunningServer;
test.beforeAll(async () => {
  server = await startServer(["serve", "--demo"]);
});
test.afterAll(async () => server.stop());

test("sign-in form shows the token command and rejects malformed tokens", async ({ page }) => {
  await page.goto(server.url);
  await expect(page.getByLabel("Token")).toBeFocused();
  await expect(page.getByText("foreword token create")).toBeVisible();
  await page.getByLabel("Token").fill("fwd_nonsense");
  await page.getByRole("button", { name: "Open" }).click();
  await expect(page.getByRole("alert")).toContainText("Malformed token");
});

test("sign-in link works once and leaves no readable token", async ({ page, browser }) => {
  await page.goto(server.link);
  await expect(page.getByRole("navigation", { name: "Views" })).toBeVisible();
  expect(page.url()).not.toContain("welcome");
  const storedData = await page.evaluate(
    () => document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage }),
  );
  expect(storedData).not.toContain("fwd_");
  const cookies = await page.context().cookies(server.url);
  expect(cookies.length).toBeGreaterThan(0);
  expect(cookies.every((cookie) => cookie.httpOnly)).toBe(true);
  await page.reload();
  await expect(page.getByRole("navigation", { name: "Views" })).toBeVisible();

  const otherPage = await (await browser.newContext()).newPage();
  await otherPage.goto(server.link);
  await expect(otherPage.getByRole("alert")).toContainText("it was used");
  await otherPage.context().close();

  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByLabel("Token")).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Token")).toBeVisible();
});

test("sign-in link works in a tab that shows the form", async ({ page }) => {
  const otherServer = await startServer(["serve", "--demo"]);
  try {
    await page.goto(otherServer.url);
    await expect(page.getByLabel("Token")).toBeFocused();
    // Only the hash changes, so the browser does not reload.
    await page.goto(otherServer.link);
    await expect(page.getByRole("navigation", { name: "Views" })).toBeVisible();
    expect(page.url()).not.toContain("welcome");
  } finally {
    await otherServer.stop();
  }
});

test("bob's token opens every view", async ({ page }) => {
  const output = execFileSync(
    process.env.FOREWORD_BIN ?? "../target/debug/foreword",
    ["-w", server.workspace, "--json", "token", "create", "--user", "bob"],
    { encoding: "utf8" },
  );
  const { token } = JSON.parse(output) as { token: string };
  await page.goto(server.url);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Open" }).click();
  await expect(page.getByText("inner trust")).toBeVisible();
  for (const view of ["prompt", "template", "layers", "chat", "conversations", "senders", "trace", "costs", "status"]) {
    await page.goto(`${server.url}/#/${view}`);
    await expect(page.locator(`main[data-view="${view}"] h1`).first()).toBeVisible();
  }
});
