// The conversations view: the list with search and filters, and the page of one conversation.
import type { Page } from "@playwright/test";
import { expectAccessible } from "./accessibility";
import { createToken, currentConversationId, get, post } from "./chat_helpers";
import { expect, horizontalOverflow, test, waitUntilLoaded } from "./fixtures";
import { type DemoServer, startDemoServer } from "./isolated_server";
import { selectByTyping, tabTo } from "./keyboard";
import { type RunningServer, startServer } from "./server";

const row = (name: string | RegExp) => ({ name });

test("list shows user, channel, situation, agent and time", async ({ page, open, browserErrors }) => {
  await open("#/conversations");
  const group = page.getByRole("row", row(/The garden group/));
  await expect(group).toContainText("carol");
  await expect(group).toContainText("signal:garden-group");
  await expect(group).toContainText("group");
  await expect(group).toContainText("Assistant");
  await expect(group.locator("time")).toHaveAttribute("title", /20\d\d/);
  expect(browserErrors).toEqual([]);
});

test("search filters the list, survives a reload and resets", async ({ page, open }) => {
  await open("#/conversations");
  const rowCount = await page.getByRole("row").count();
  await page.getByLabel(/Search/).fill("bookshelf");
  await expect(page).toHaveURL(/q=bookshelf/);
  await expect(page.getByRole("link", { name: "The bookshelf" })).toBeVisible();
  await expect(page.getByRole("link", { name: "The garden group" })).toHaveCount(0);
  await page.reload();
  await waitUntilLoaded(page);
  await expect(page.getByLabel(/Search/)).toHaveValue("bookshelf");
  await page.getByLabel(/Search/).fill("no such words anywhere");
  await expect(page.getByText("No matches")).toBeVisible();
  await page.getByRole("button", { name: "Show all" }).click();
  await expect(page.getByRole("link", { name: "The garden group" })).toBeVisible();
  expect(await page.getByRole("row").count()).toBe(rowCount);
});

test("search field follows the URL; navigation link clears it", async ({ page, open }) => {
  await open("#/conversations");
  await page.evaluate(() => (location.hash = "#/conversations?q=bookshelf"));
  await expect(page.getByLabel(/Search/)).toHaveValue("bookshelf");
  await expect(page.getByRole("link", { name: "The garden group" })).toHaveCount(0);
  await expect(page.getByRole("link", { name: "The bookshelf" })).toBeVisible();
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Conversations" }).click();
  await expect(page.getByLabel(/Search/)).toHaveValue("");
  await expect(page.getByRole("link", { name: "The garden group" })).toBeVisible();
});

test("search finds a conversation by its message text", async ({ page, open }) => {
  await open("#/conversations");
  await page.getByLabel(/Search/).fill("Who waters on Thursdays");
  await expect(page.getByRole("link", { name: "The garden group" })).toBeVisible();
  await expect(page.getByRole("link", { name: "The bookshelf" })).toHaveCount(0);
});

test("agent and user filters narrow the list", async ({ page, open }) => {
  await open("#/conversations");
  await page.getByLabel("Agent").selectOption("scribe");
  await expect(page.getByRole("link", { name: "A notice for the gate" })).toBeVisible();
  await expect(page.getByRole("link", { name: "The garden group" })).toHaveCount(0);
  await page.getByLabel("Started by").selectOption("bob");
  await expect(page.getByRole("link", { name: "A letter to the timber yard" })).toBeVisible();
  await expect(page.getByRole("link", { name: "A notice for the gate" })).toHaveCount(0);
  await expect(page).toHaveURL(/agent=scribe&user=bob/);
});

test("list and conversation work with the keyboard alone", async ({ page, open }) => {
  await open("#/conversations");
  await tabTo(page, page.getByText("Skip to content"));
  await page.keyboard.press("Enter");
  await tabTo(page, page.getByRole("searchbox"));
  await page.keyboard.type("timber");
  await expect(page).toHaveURL(/q=timber/);
  await expect(page.getByRole("link", { name: "The garden group" })).toHaveCount(0);
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.press("Delete");
  await expect(page.getByRole("link", { name: "The garden group" })).toBeVisible();
  await tabTo(page, page.getByLabel("Agent"));
  await selectByTyping(page, "scribe");
  await expect(page).toHaveURL(/agent=scribe/);
  await tabTo(page, page.getByLabel("Started by"));
  await selectByTyping(page, "bob");
  await expect(page).toHaveURL(/agent=scribe&user=bob/);
  await expect(page.getByRole("link", { name: "A notice for the gate" })).toHaveCount(0);
  await tabTo(page, page.getByRole("link", { name: "A letter to the timber yard" }));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("A letter to the timber yard");
  await waitUntilLoaded(page);
  await tabTo(page, page.getByRole("link", { name: "All conversations" }));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("link", { name: "The garden group" })).toBeVisible();
  await open("#/conversations/due-dates");
  const tool = page.locator("details.tool").first();
  await tabTo(page, tool.locator("summary"));
  await page.keyboard.press("Enter");
  await expect(tool).toHaveAttribute("open");
  await tabTo(page, page.getByRole("link", { name: "Show trace" }));
  await page.keyboard.press("Enter");
  await expect(page.locator('main[data-view="trace"]')).toBeFocused();
});

test("conversation shows folded tools, summary, epochs and links", async ({ page, open }) => {
  await open("#/conversations/birthday");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Carol's birthday");
  await expect(page.getByText("What's Carol's birthday?", { exact: true })).toBeVisible();
  await expect(page.getByText("summarised").first()).toBeVisible();
  await expect(page.getByText(/Summary: the agent reads this/)).toBeVisible();
  await expect(page.locator("details.tool").first()).not.toHaveAttribute("open");
  await expect(page.getByRole("link", { name: "Prompt, in 2 epochs" })).toHaveAttribute(
    "href",
    "#/prompt?conversation=birthday",
  );
  await expect(page.getByRole("link", { name: "Trace" }).last()).toHaveAttribute("href", /#\/trace\/t-/);
  await page.getByRole("link", { name: "Continue in the chat" }).click();
  expect(await currentConversationId(page)).toBe("birthday");
});

test("turn footer shows input tokens and cost", async ({ page, open }) => {
  await open("#/conversations/birthday");
  await expect(page.locator("article.answer footer").first()).toContainText(/input tokens/);
  await expect(page.locator("article.answer footer").first()).toContainText(/\$|price unknown/);
});

test("failed turn shows the reason and links to its trace", async ({ page, open }) => {
  await open("#/conversations/due-dates");
  await expect(page.getByText("This turn failed: provider unavailable.")).toBeVisible();
  await page.getByRole("link", { name: "Show trace" }).first().click();
  await expect(page.locator('main[data-view="trace"]')).toBeVisible();
});

test("conversation is deleted only after confirmation", async ({ page, open }) => {
  await open("#/conversations");
  const { id } = await post<{ id: string }>(page, "/api/v1/conversations", { title: "Not for long" });
  await open(`#/conversations/${id}`);
  await expect(page.getByText("No messages yet")).toBeVisible();
  await page.getByRole("button", { name: "Delete …" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.getByRole("button", { name: "Delete …" }).click();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Delete …" })).toBeFocused();
  await page.getByRole("button", { name: "Delete …" }).press("Enter");
  await page.getByRole("button", { name: "Delete", exact: true }).press("Enter");
  await expect(page.getByText("Conversation deleted.")).toBeVisible();
  await expect(page).toHaveURL(/#\/conversations$/);
  expect(await get(page, `/api/v1/conversations/${id}`)).toMatchObject({ status: 404 });
});

test("unknown conversation shows a not-found notice", async ({ page, open }) => {
  await open("#/conversations/never-was");
  await expect(page.getByText("Conversation not found.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Try again" })).toHaveCount(0);
  await open("#/chat/never-was");
  await expect(page.getByText("Conversation not found.")).toBeVisible();
  await page.getByRole("link", { name: "Show all conversations" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Conversations" })).toBeVisible();
});

test("list loads 100 conversations per page", async ({ page, open }) => {
  test.setTimeout(120_000);
  await open("#/conversations");
  await page.evaluate(async () => {
    for (let index = 0; index < 150; index++)
      await fetch("/api/v1/conversations", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ title: `Many ${index} ${"and a long title ".repeat(8)}` }),
      });
  });
  await page.reload();
  await waitUntilLoaded(page);
  await expect(page.locator("tbody tr")).toHaveCount(100);
  await page.getByRole("button", { name: "Show more" }).click();
  await expect.poll(() => page.locator("tbody tr").count()).toBeGreaterThan(150);
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
  await page.evaluate(async () => {
    const { items } = (await (await fetch("/api/v1/conversations?limit=300")).json()) as {
      items: { id: string; title?: string }[];
    };
    for (const conversation of items.filter((conversation) => conversation.title?.startsWith("Many ")))
      await fetch(`/api/v1/conversations/${conversation.id}`, { method: "DELETE" });
  });
});

test("conversation opened by keyboard receives the focus", async ({ page, open }) => {
  await open("#/conversations");
  const link = page.getByRole("table").getByRole("link").first();
  await link.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("link", { name: "All conversations" })).toBeVisible();
  await expect(page.locator("main")).toBeFocused();
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "All conversations" })).toBeFocused();
});

for (const scheme of ["light", "dark"] as const) {
  test(`conversation is accessible and fits a phone, ${scheme}`, async ({ page, open, browserErrors }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await open("#/conversations/due-dates");
    await page.locator("details.tool summary").first().click();
    await expectAccessible(page);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
    expect(browserErrors).toEqual([]);
  });
}

test.describe("restricted user", () => {
  test.use({ storageState: { cookies: [], origins: [] } });
  let server: RunningServer;
  test.beforeAll(async () => {
    server = await startServer(["serve", "--demo"]);
  });
  test.afterAll(async () => server.stop());

  test("bob sees only his own conversations and speaks as himself", async ({ page }) => {
    await page.goto(server.url);
    await page.getByLabel("Token").fill(createToken(server.workspace, "bob"));
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    await page.goto(`${server.url}/#/conversations`);
    await waitUntilLoaded(page);
    await expect(page.getByRole("link", { name: "The bookshelf" })).toBeVisible();
    await expect(page.getByText("Carol's birthday")).toHaveCount(0);
    await expect(page.getByLabel("Started by")).toHaveCount(0);
    await page.getByRole("link", { name: "The bookshelf" }).click();
    await expect(page.getByText("When is the oak delivered?")).toBeVisible();
    await expect(page.getByRole("button", { name: "Delete …" })).toHaveCount(0);
    await page.goto(`${server.url}/#/conversations/birthday`);
    await expect(page.getByText("Conversation not found.")).toBeVisible();
    await page.goto(`${server.url}/#/chat`);
    await waitUntilLoaded(page);
    await expect(page.getByText("You speak as yourself (bob), in private: inner trust.")).toBeVisible();
    await expect(page.getByLabel("user")).toHaveCount(0);
    await page.getByRole("textbox", { name: "Message" }).fill("Who am I?");
    await page.keyboard.press("Enter");
    await expect(page.locator("article.answer").last()).toContainText("I take you for bob (trust inner)");
    await page.goto(`${server.url}/#/chat/birthday`);
    await expect(page.getByText("Conversation not found.")).toBeVisible();
    await expect(page.getByRole("textbox", { name: "Message" })).toHaveCount(0);
    await expect(page.getByRole("link", { name: "Details" })).toHaveCount(0);
    await page.getByRole("link", { name: "Start a new chat" }).click();
    await expect(page.getByRole("textbox", { name: "Message" })).toBeEnabled();
  });

  test("bob submits a message and sees only his own", async ({ page }) => {
    await page.goto(server.url);
    await page.getByLabel("Token").fill(createToken(server.workspace, "bob"));
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    await page.goto(`${server.url}/#/senders`);
    await waitUntilLoaded(page);
    await expect(page.getByText("Only the owner sees all senders")).toBeVisible();
    await expect(page.getByRole("alert")).toHaveCount(0);
    await expect(page.getByText("No messages yet")).toBeVisible();
    await page.getByRole("button", { name: "Submit a message …" }).click();
    await page.getByRole("textbox", { name: "Message" }).fill("A word from bob.");
    await page.getByRole("button", { name: "Submit", exact: true }).click();
    await expect(page.getByText("Answered:")).toBeVisible({ timeout: 30_000 });
    await page.getByRole("button", { name: "Close" }).click();
    await expect(page.getByText("A word from bob.").first()).toBeVisible();
  });

  test("messages above bob's trust are withheld", async ({ page }) => {
    await page.goto(server.link);
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    await page.goto(`${server.url}/#/chat/bookshelf`);
    await waitUntilLoaded(page);
    await page.getByRole("textbox", { name: "Message" }).fill("!say A secret of the owner's.");
    await page.keyboard.press("Enter");
    await expect(page.locator("article.answer").last()).toContainText("A secret of the owner's.");
    await expect(page.locator("article.answer").last()).toHaveAttribute("aria-busy", "false");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").fill(createToken(server.workspace, "bob"));
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    await expect(page.getByText("inner trust", { exact: true })).toBeVisible();
    for (const view of ["chat", "conversations"]) {
      await page.goto(`${server.url}/#/${view}/bookshelf`);
      await waitUntilLoaded(page);
      await expect(page.getByText("Message withheld: it requires more trust than you have.").first()).toBeVisible();
      await expect(page.getByText("A secret of the owner's.")).toHaveCount(0);
    }
  });
});

test.describe("600 conversations", () => {
  let server: DemoServer;
  test.beforeAll(async ({ browser }) => {
    server = await startDemoServer(browser);
  });
  test.afterAll(async () => server.stop());

  test("old conversations are found by name; back restores scroll position", async ({ page }) => {
    await server.signInOwner(page.context());
    await page.goto(`${server.url}/#/prompt`);
    await waitUntilLoaded(page);
    await createConversations(page, 600);
    await page.goto(`${server.url}/#/prompt?conversation=workshop`);
    await waitUntilLoaded(page);
    const field = page.getByRole("combobox", { name: "Conversation" });
    await expect(field).toHaveValue("At the bench");
    await field.click();
    await expect(page.getByRole("listbox").getByRole("option").first()).toContainText("Number");
    await field.fill("papers of the van");
    await expect(page.getByRole("option", { name: /Papers of the van/ })).toBeVisible();
    await field.press("ArrowDown");
    await field.press("Enter");
    await expect(page).toHaveURL(/conversation=van/);
    await expect(field).toHaveValue("Papers of the van");
    await page.goto(`${server.url}/#/conversations`);
    await waitUntilLoaded(page);
    await page.getByRole("button", { name: "Show more" }).click();
    const distantLink = page.getByRole("link", { name: /^Number 4[0-9][0-9]$/ }).last();
    await distantLink.scrollIntoViewIfNeeded();
    const [name, scrollTop] = [await distantLink.innerText(), await page.evaluate(() => scrollY)];
    expect(scrollTop).toBeGreaterThan(2000);
    await distantLink.click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
    await waitUntilLoaded(page);
    await page.goBack();
    await expect(page.getByRole("link", { name, exact: true })).toBeInViewport();
    expect(Math.abs((await page.evaluate(() => scrollY)) - scrollTop)).toBeLessThan(50);
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Senders" }).click();
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Conversations" }).click();
    await waitUntilLoaded(page);
    expect(await page.evaluate(() => scrollY)).toBe(0);
    await page.goto(`${server.url}/#/costs?by=session`);
    await waitUntilLoaded(page);
    const spendingTable = page.getByRole("table", { name: "Spending by conversation" });
    await spendingTable.getByTitle("workshop").scrollIntoViewIfNeeded();
    await expect(spendingTable.getByTitle("workshop")).toHaveText("At the bench");
    await expect(spendingTable).toContainText("Inbox messages");
  });
});

/** Creates conversations, ten in parallel. */
async function createConversations(page: Page, count: number): Promise<void> {
  await page.evaluate(async (count) => {
    for (let index = 0; index < count; index += 10)
      await Promise.all(
        Array.from({ length: 10 }, (_, offset) =>
          fetch("/api/v1/conversations", {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ title: `Number ${index + offset}` }),
          }),
        ),
      );
  }, count);
}

test("inbox conversation has the same name across views", async ({ page, open }) => {
  await open("#/conversations");
  const inbox = page.getByRole("link", { name: "Inbox messages" });
  const id = decodeURIComponent((await inbox.first().getAttribute("href"))?.split("/").at(-1) ?? "");
  expect(id).toMatch(/^inbox-/);
  for (const hash of [`#/trace?conversation=${id}`, `#/prompt?conversation=${id}`]) {
    await open(hash);
    await expect(page.getByRole("combobox", { name: "conversation" })).toHaveValue("Inbox messages");
  }
  await open(`#/trace?conversation=${id}`);
  await expect(page.locator("td.what").first()).toHaveText("Inbox messages");
  await page.locator("th.when a").first().click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Turn in “Inbox messages”");
});
