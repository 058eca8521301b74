// Signing out and changing users: nothing of one user is visible to the next, and an unreachable server does not sign
// anyone out.
import type { Page } from "@playwright/test";
import { signIn } from "./own";
import { expect, settled, test } from "./page";
import { type Served, serve } from "./server";
import { composer, here, say, tokenOf } from "./talk";

let served: Served;
test.beforeAll(async () => {
  served = await serve(["serve", "--demo"]);
});
test.afterAll(() => served.stop());
test.beforeEach(({ page }) => signIn(page, served, "alice", ["chat", "observe", "admin", "assert"]));

async function at(page: Page, place: string): Promise<void> {
  await page.goto(`${served.url}/${place}`);
  await settled(page);
}

/** Signs in with a token in the current tab. */
async function enterAs(page: Page, user: string): Promise<void> {
  await page.getByLabel("Token").fill(tokenOf(served.workspace, user));
  await page.getByRole("button", { name: "Open" }).click();
  await expect(page.getByRole("banner").getByText(user, { exact: true })).toBeVisible();
}

const views = (page: Page) => page.getByRole("navigation", { name: "Views" });
const kept = (page: Page) => page.evaluate(() => JSON.stringify({ ...sessionStorage }));

/** A WebSocket that never opens, so messages stay in the outbox. */
const deaf = (page: Page) => page.routeWebSocket(/\/ws$/, (socket) => void socket.close());

test("a sign-out that the server does not carry out says so, and what to try", async ({ page }) => {
  await at(page, "#/prompt");
  await page.route("**/api/v1/session", (route) =>
    route.request().method() === "DELETE"
      ? route.fulfill({ status: 503, json: { code: "store_unavailable", detail: "the database is away" } })
      : route.continue(),
  );
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByText(/You are still signed in/)).toContainText("The database is away.");
  await expect(page.getByText(/You are still signed in/)).toContainText(/Try again/);
  await expect(views(page)).toBeVisible();
});

test("a server that can't answer now is not taken for being signed out, and is asked again", async ({ page }) => {
  await at(page, "#/prompt");
  let away = true;
  await page.route("**/api/v1/session", (route) =>
    away ? route.fulfill({ status: 503, body: "upstream is away" }) : route.continue(),
  );
  await page.reload();
  await expect(page.getByRole("alert")).toContainText("503");
  await expect(page.getByLabel("Token")).toHaveCount(0);
  away = false;
  await expect(views(page)).toBeVisible({ timeout: 15_000 });
});

test("a link that meets a server which is away opens the page once it is back", async ({ page }) => {
  const other = await serve(["serve", "--demo"]);
  let away = true;
  await page.route("**/api/v1/session", (route) => (away ? route.abort() : route.continue()));
  await page.goto(other.link);
  await expect(page.getByRole("alert")).toContainText("is unreachable");
  expect(page.url()).not.toContain("welcome");
  away = false;
  await expect(views(page)).toBeVisible({ timeout: 15_000 });
  await other.stop();
});

test("nothing of alice's is left in the tab when she signs out, and nothing of hers is sent as bob", async ({
  page,
}) => {
  await deaf(page);
  await at(page, "#/chat");
  await say(page, "alice's letter, which waits");
  await composer(page).fill("alice's half a thought");
  await expect(page.locator("article.unsent")).toBeVisible();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByLabel("Token")).toBeVisible();
  expect(await kept(page)).not.toContain("alice");
  expect(page.url()).not.toContain("chat");
  await enterAs(page, "bob");
  await page.goto(`${served.url}/#/chat`);
  await expect(composer(page)).toHaveValue("");
  await expect(page.locator("article.unsent")).toHaveCount(0);
  // Data that only the owner receives is not shown to bob.
  await expect(page.getByText("You speak as yourself (bob)")).toBeVisible();
  await expect(page.getByLabel("user")).toHaveCount(0);
});

test("a session that ended: the same person finds everything again, another one nothing", async ({ page, context }) => {
  await deaf(page);
  await at(page, "#/chat");
  await say(page, "alice's letter, which waits");
  const conversation = await here(page);
  await composer(page).fill("alice's half a thought");
  await context.clearCookies();
  await views(page).getByRole("link", { name: "Status" }).click();
  await expect(page.getByLabel("Token")).toBeVisible();
  await enterAs(page, "alice");
  await page.goto(`${served.url}/#/chat/${conversation}`);
  await expect(composer(page)).toHaveValue("alice's half a thought");
  await expect(page.locator("article.unsent")).toHaveCount(1);
  await context.clearCookies();
  await views(page).getByRole("link", { name: "Status" }).click();
  await enterAs(page, "bob");
  await page.goto(`${served.url}/#/chat`);
  await settled(page);
  await expect(composer(page)).toHaveValue("");
  expect(await kept(page)).not.toContain("alice");
});

test("another tab follows when somebody signs out or another person signs in", async ({ page, context }) => {
  await at(page, "#/chat");
  await composer(page).fill("alice's half a thought");
  const other = await context.newPage();
  await at(other, "#/prompt");
  await other.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByLabel("Token")).toBeVisible();
  await enterAs(other, "bob");
  await expect(page.getByRole("banner").getByText("bob", { exact: true })).toBeVisible();
  expect(await kept(page)).not.toContain("alice");
});

test("unsaved work on the template is its writer's, and waits for her beyond a sign-out", async ({ page }) => {
  await at(page, "#/template");
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
  await enterAs(page, "alice");
  await at(page, "#/template");
  await expect(page.getByRole("textbox", { name: "Template" })).toHaveText("Alice's words, not saved.");
});
