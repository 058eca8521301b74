// Signing out and changing users: no data of one user is visible to the next, and an unreachable server does not sign
// the user out.
import type { Page } from "@playwright/test";
import { composer, createToken, currentConversationId, sendMessage } from "./chat_helpers";
import { expect, test, waitUntilLoaded } from "./fixtures";
import { signIn } from "./isolated_server";
import { type RunningServer, startServer } from "./server";

let server: RunningServer;
test.beforeAll(async () => {
  server = await startServer(["serve", "--demo"]);
});
test.afterAll(() => server.stop());
test.beforeEach(({ page }) => signIn(page, server, "alice", ["chat", "observe", "admin", "assert"]));

async function openView(page: Page, hash: string): Promise<void> {
  await page.goto(`${server.url}/${hash}`);
  await waitUntilLoaded(page);
}

/** Signs in with a token in the current tab. */
async function signInAs(page: Page, user: string): Promise<void> {
  await page.getByLabel("Token").fill(createToken(server.workspace, user));
  await page.getByRole("button", { name: "Open" }).click();
  await expect(page.getByRole("banner").getByText(user, { exact: true })).toBeVisible();
}

const navigation = (page: Page) => page.getByRole("navigation", { name: "Views" });
const sessionStorageText = (page: Page) => page.evaluate(() => JSON.stringify({ ...sessionStorage }));

/** Opens another view. Not by a click: the page may notice the expired session first and remove the navigation. */
const requestStatus = (page: Page) =>
  page.evaluate(() => {
    location.hash = "#/status";
  });

/** Closes every WebSocket at once, so that messages stay unsent. */
const blockWebSocket = (page: Page) => page.routeWebSocket(/\/ws$/, (socket) => void socket.close());

test("failed sign-out shows the reason and stays signed in", async ({ page }) => {
  await openView(page, "#/prompt");
  await page.route("**/api/v1/session", (route) =>
    route.request().method() === "DELETE"
      ? route.fulfill({ status: 503, json: { code: "store_unavailable", detail: "the database is unavailable" } })
      : route.continue(),
  );
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByText(/You are still signed in/)).toContainText("The database is unavailable.");
  await expect(page.getByText(/You are still signed in/)).toContainText(/Try again/);
  await expect(navigation(page)).toBeVisible();
});

test("server error on reload does not sign out and is retried", async ({ page }) => {
  await openView(page, "#/prompt");
  let unavailable = true;
  await page.route("**/api/v1/session", (route) =>
    unavailable ? route.fulfill({ status: 503, body: "upstream is unavailable" }) : route.continue(),
  );
  await page.reload();
  await expect(page.getByRole("alert")).toContainText("503");
  await expect(page.getByLabel("Token")).toHaveCount(0);
  unavailable = false;
  await expect(navigation(page)).toBeVisible({ timeout: 15_000 });
});

test("sign-in link works once the unreachable server is back", async ({ page }) => {
  const otherServer = await startServer(["serve", "--demo"]);
  let unavailable = true;
  await page.route("**/api/v1/session", (route) => (unavailable ? route.abort() : route.continue()));
  await page.goto(otherServer.link);
  await expect(page.getByRole("alert")).toContainText("is unreachable");
  expect(page.url()).not.toContain("welcome");
  unavailable = false;
  await expect(navigation(page)).toBeVisible({ timeout: 15_000 });
  await otherServer.stop();
});

test("sign-out removes alice's drafts and unsent messages from the tab", async ({ page }) => {
  await blockWebSocket(page);
  await openView(page, "#/chat");
  await sendMessage(page, "alice's letter, which waits");
  await composer(page).fill("alice's half a thought");
  await expect(page.locator("article.unsent")).toBeVisible();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByLabel("Token")).toBeVisible();
  expect(await sessionStorageText(page)).not.toContain("alice");
  expect(page.url()).not.toContain("chat");
  await signInAs(page, "bob");
  await page.goto(`${server.url}/#/chat`);
  await expect(composer(page)).toHaveValue("");
  await expect(page.locator("article.unsent")).toHaveCount(0);
  // Data that only the owner receives is not shown to bob.
  await expect(page.getByText("You speak as yourself (bob)")).toBeVisible();
  await expect(page.getByLabel("user")).toHaveCount(0);
});

test("expired login session restores drafts for the same user only", async ({ page, context }) => {
  await blockWebSocket(page);
  await openView(page, "#/chat");
  await sendMessage(page, "alice's letter, which waits");
  const conversation = await currentConversationId(page);
  await composer(page).fill("alice's half a thought");
  await context.clearCookies();
  await requestStatus(page);
  await expect(page.getByLabel("Token")).toBeVisible();
  await signInAs(page, "alice");
  await page.goto(`${server.url}/#/chat/${conversation}`);
  await expect(composer(page)).toHaveValue("alice's half a thought");
  await expect(page.locator("article.unsent")).toHaveCount(1);
  await context.clearCookies();
  await requestStatus(page);
  await signInAs(page, "bob");
  await page.goto(`${server.url}/#/chat`);
  await waitUntilLoaded(page);
  await expect(composer(page)).toHaveValue("");
  expect(await sessionStorageText(page)).not.toContain("alice");
});

test("other tabs follow a sign-out or a change of user", async ({ page, context }) => {
  await openView(page, "#/chat");
  await composer(page).fill("alice's half a thought");
  const otherTab = await context.newPage();
  await openView(otherTab, "#/prompt");
  await otherTab.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByLabel("Token")).toBeVisible();
  await signInAs(otherTab, "bob");
  await expect(page.getByRole("banner").getByText("bob", { exact: true })).toBeVisible();
  expect(await sessionStorageText(page)).not.toContain("alice");
});

test("unsaved template draft survives its author's sign-out", async ({ page }) => {
  await openView(page, "#/template");
  await page.getByRole("textbox", { name: "Template" }).click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText("Alice's words, not saved.");
  await expect
    .poll(() =>
      page.evaluate(() =>
        Object.keys(localStorage)
          .filter((name) => name.startsWith("foreword.draft"))
          .join(),
      ),
    )
    .toContain("alice");
  await page.getByRole("button", { name: "Sign out" }).click();
  await signInAs(page, "alice");
  await openView(page, "#/template");
  await expect(page.getByRole("textbox", { name: "Template" })).toHaveText("Alice's words, not saved.");
});
