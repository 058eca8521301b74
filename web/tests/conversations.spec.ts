// The conversations view: searching and filtering the list, and one conversation.
import type { Page } from "@playwright/test";
import { pick, tabTo } from "./keys";
import { nothingSerious, type Own, ownDemo } from "./own";
import { expect, overflow, settled, test } from "./page";
import { type Served, serve } from "./server";
import { get, here, post, tokenOf } from "./talk";

const row = (name: string | RegExp) => ({ name });

test("the list has who, where, in which situation, with which agent and when", async ({ page, open, troubles }) => {
  await open("#/conversations");
  const group = page.getByRole("row", row(/The garden group/));
  await expect(group).toContainText("carol");
  await expect(group).toContainText("signal:garden-group");
  await expect(group).toContainText("group");
  await expect(group).toContainText("Assistant");
  await expect(group.locator("time")).toHaveAttribute("title", /20\d\d/);
  expect(troubles).toEqual([]);
});

test("a search finds, stands in the address, and its end shows all again", async ({ page, open }) => {
  await open("#/conversations");
  const all = await page.getByRole("row").count();
  await page.getByLabel(/Search/).fill("bookshelf");
  await expect(page).toHaveURL(/q=bookshelf/);
  await expect(page.getByRole("link", { name: "The bookshelf" })).toBeVisible();
  await expect(page.getByRole("link", { name: "The garden group" })).toHaveCount(0);
  await page.reload();
  await settled(page);
  await expect(page.getByLabel(/Search/)).toHaveValue("bookshelf");
  await page.getByLabel(/Search/).fill("no such words anywhere");
  await expect(page.getByText("No matches")).toBeVisible();
  await page.getByRole("button", { name: "Show all" }).click();
  await expect(page.getByRole("link", { name: "The garden group" })).toBeVisible();
  expect(await page.getByRole("row").count()).toBe(all);
});

test("the search field follows the address, and the navigation ends a search", async ({ page, open }) => {
  await open("#/conversations");
  await page.evaluate(() => (location.hash = "#/conversations?q=bookshelf"));
  await expect(page.getByLabel(/Search/)).toHaveValue("bookshelf");
  await expect(page.getByRole("link", { name: "The garden group" })).toHaveCount(0);
  await expect(page.getByRole("link", { name: "The bookshelf" })).toBeVisible();
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Conversations" }).click();
  await expect(page.getByLabel(/Search/)).toHaveValue("");
  await expect(page.getByRole("link", { name: "The garden group" })).toBeVisible();
});

test("the owner finds a conversation by the words that were said in it", async ({ page, open }) => {
  await open("#/conversations");
  await page.getByLabel(/Search/).fill("Who waters on Thursdays");
  await expect(page.getByRole("link", { name: "The garden group" })).toBeVisible();
  await expect(page.getByRole("link", { name: "The bookshelf" })).toHaveCount(0);
});

test("agents and people filter the list", async ({ page, open }) => {
  await open("#/conversations");
  await page.getByLabel("Agent").selectOption("scribe");
  await expect(page.getByRole("link", { name: "A notice for the gate" })).toBeVisible();
  await expect(page.getByRole("link", { name: "The garden group" })).toHaveCount(0);
  await page.getByLabel("Started by").selectOption("bob");
  await expect(page.getByRole("link", { name: "A letter to the timber yard" })).toBeVisible();
  await expect(page.getByRole("link", { name: "A notice for the gate" })).toHaveCount(0);
  await expect(page).toHaveURL(/agent=scribe&user=bob/);
});

test("by the keyboard alone: search, filter, open, unfold a tool, and go back", async ({ page, open }) => {
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
  await pick(page, "scribe");
  await expect(page).toHaveURL(/agent=scribe/);
  await tabTo(page, page.getByLabel("Started by"));
  await pick(page, "bob");
  await expect(page).toHaveURL(/agent=scribe&user=bob/);
  await expect(page.getByRole("link", { name: "A notice for the gate" })).toHaveCount(0);
  await tabTo(page, page.getByRole("link", { name: "A letter to the timber yard" }));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("A letter to the timber yard");
  await settled(page);
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

test("one conversation in full: tools folded, its summary, its epochs, and the way on", async ({ page, open }) => {
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
  expect(await here(page)).toBe("birthday");
});

test("what each turn cost is told", async ({ page, open }) => {
  await open("#/conversations/birthday");
  await expect(page.locator("article.answer footer").first()).toContainText(/input tokens/);
  await expect(page.locator("article.answer footer").first()).toContainText(/\$|price unknown/);
});

test("a failure and a stop are told where they happened", async ({ page, open }) => {
  await open("#/conversations/due-dates");
  await expect(page.getByText("This turn failed: provider unavailable.")).toBeVisible();
  await page.getByRole("link", { name: "Show trace" }).first().click();
  await expect(page.locator('main[data-view="trace"]')).toBeVisible();
});

test("a conversation is deleted once somebody means it", async ({ page, open }) => {
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

test("what is not there is said to be not there", async ({ page, open }) => {
  await open("#/conversations/never-was");
  await expect(page.getByText("Conversation not found.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Try again" })).toHaveCount(0);
  await open("#/chat/never-was");
  await expect(page.getByText("Conversation not found.")).toBeVisible();
  await page.getByRole("link", { name: "Show all conversations" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Conversations" })).toBeVisible();
});

test("hundreds of conversations come a page at a time, and stay quick", async ({ page, open }) => {
  test.setTimeout(120_000);
  await open("#/conversations");
  await page.evaluate(async () => {
    for (let at = 0; at < 150; at++)
      await fetch("/api/v1/conversations", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ title: `Many ${at} ${"and a long title ".repeat(8)}` }),
      });
  });
  await page.reload();
  await settled(page);
  await expect(page.locator("tbody tr")).toHaveCount(100);
  await page.getByRole("button", { name: "Show more" }).click();
  await expect.poll(() => page.locator("tbody tr").count()).toBeGreaterThan(150);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  await page.evaluate(async () => {
    const { items } = (await (await fetch("/api/v1/conversations?limit=300")).json()) as {
      items: { id: string; title?: string }[];
    };
    for (const one of items.filter((one) => one.title?.startsWith("Many ")))
      await fetch(`/api/v1/conversations/${one.id}`, { method: "DELETE" });
  });
});

test("whoever opens one with the keyboard goes on where it is read", async ({ page, open }) => {
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
  test(`one conversation is readable by all, ${scheme}, and on a phone`, async ({ page, open, troubles }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await open("#/conversations/due-dates");
    await page.locator("details.tool summary").first().click();
    await nothingSerious(page);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    expect(troubles).toEqual([]);
  });
}

test.describe("bob", () => {
  test.use({ storageState: { cookies: [], origins: [] } });
  let served: Served;
  test.beforeAll(async () => {
    served = await serve(["serve", "--demo"]);
  });
  test.afterAll(async () => served.stop());

  test("sees his own conversations, talks as himself, and finds nothing of others", async ({ page }) => {
    await page.goto(served.url);
    await page.getByLabel("Token").fill(tokenOf(served.workspace, "bob"));
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    await page.goto(`${served.url}/#/conversations`);
    await settled(page);
    await expect(page.getByRole("link", { name: "The bookshelf" })).toBeVisible();
    await expect(page.getByText("Carol's birthday")).toHaveCount(0);
    await expect(page.getByLabel("Started by")).toHaveCount(0);
    await page.getByRole("link", { name: "The bookshelf" }).click();
    await expect(page.getByText("When is the oak delivered?")).toBeVisible();
    await expect(page.getByRole("button", { name: "Delete …" })).toHaveCount(0);
    await page.goto(`${served.url}/#/conversations/birthday`);
    await expect(page.getByText("Conversation not found.")).toBeVisible();
    await page.goto(`${served.url}/#/chat`);
    await settled(page);
    await expect(page.getByText("You speak as yourself (bob), in private: inner trust.")).toBeVisible();
    await expect(page.getByLabel("user")).toHaveCount(0);
    await page.getByRole("textbox", { name: "Message" }).fill("Who am I?");
    await page.keyboard.press("Enter");
    await expect(page.locator("article.answer").last()).toContainText("I take you for bob (trust inner)");
    await page.goto(`${served.url}/#/chat/birthday`);
    await expect(page.getByText("Conversation not found.")).toBeVisible();
    await expect(page.getByRole("textbox", { name: "Message" })).toHaveCount(0);
    await expect(page.getByRole("link", { name: "Details" })).toHaveCount(0);
    await page.getByRole("link", { name: "Start a new chat" }).click();
    await expect(page.getByRole("textbox", { name: "Message" })).toBeEnabled();
  });

  test("has his own messages; those of others are for the owner", async ({ page }) => {
    await page.goto(served.url);
    await page.getByLabel("Token").fill(tokenOf(served.workspace, "bob"));
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    await page.goto(`${served.url}/#/senders`);
    await settled(page);
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

  test("reads a placeholder where something was said above his trust", async ({ page }) => {
    await page.goto(served.link);
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    await page.goto(`${served.url}/#/chat/bookshelf`);
    await settled(page);
    await page.getByRole("textbox", { name: "Message" }).fill("!say A secret of the owner's.");
    await page.keyboard.press("Enter");
    await expect(page.locator("article.answer").last()).toContainText("A secret of the owner's.");
    await expect(page.locator("article.answer").last()).toHaveAttribute("aria-busy", "false");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").fill(tokenOf(served.workspace, "bob"));
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    await expect(page.getByText("inner trust", { exact: true })).toBeVisible();
    for (const place of ["chat", "conversations"]) {
      await page.goto(`${served.url}/#/${place}/bookshelf`);
      await settled(page);
      await expect(page.getByText("Message withheld: it requires more trust than you have.").first()).toBeVisible();
      await expect(page.getByText("A secret of the owner's.")).toHaveCount(0);
    }
  });
});

test.describe("many conversations", () => {
  let served: Own;
  test.beforeAll(async ({ browser }) => {
    served = await ownDemo(browser);
  });
  test.afterAll(async () => served.stop());

  test("an old one keeps its name, is found among six hundred by the keyboard, and going back keeps the place", async ({
    page,
  }) => {
    await served.enter(page.context());
    await page.goto(`${served.url}/#/prompt`);
    await settled(page);
    await many(page, 600);
    await page.goto(`${served.url}/#/prompt?conversation=workshop`);
    await settled(page);
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
    await page.goto(`${served.url}/#/conversations`);
    await settled(page);
    await page.getByRole("button", { name: "Show more" }).click();
    const far = page.getByRole("link", { name: /^Number 4[0-9][0-9]$/ }).last();
    await far.scrollIntoViewIfNeeded();
    const [name, depth] = [await far.innerText(), await page.evaluate(() => scrollY)];
    expect(depth).toBeGreaterThan(2000);
    await far.click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
    await settled(page);
    await page.goBack();
    await expect(page.getByRole("link", { name, exact: true })).toBeInViewport();
    expect(Math.abs((await page.evaluate(() => scrollY)) - depth)).toBeLessThan(50);
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Senders" }).click();
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Conversations" }).click();
    await settled(page);
    expect(await page.evaluate(() => scrollY)).toBe(0);
    await page.goto(`${served.url}/#/costs?by=session`);
    await settled(page);
    const spent = page.getByRole("table", { name: "Spending by conversation" });
    await spent.getByTitle("workshop").scrollIntoViewIfNeeded();
    await expect(spent.getByTitle("workshop")).toHaveText("At the bench");
    await expect(spent).toContainText("Inbox messages");
  });
});

/** Creates conversations, ten at a time. */
async function many(page: Page, count: number): Promise<void> {
  await page.evaluate(async (count) => {
    for (let at = 0; at < count; at += 10)
      await Promise.all(
        Array.from({ length: 10 }, (_, one) =>
          fetch("/api/v1/conversations", {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ title: `Number ${at + one}` }),
          }),
        ),
      );
  }, count);
}

test("letters in the inbox have the same name everywhere", async ({ page, open }) => {
  await open("#/conversations");
  const inbox = page.getByRole("link", { name: "Inbox messages" });
  const id = decodeURIComponent((await inbox.first().getAttribute("href"))?.split("/").at(-1) ?? "");
  expect(id).toMatch(/^inbox-/);
  for (const place of [`#/trace?conversation=${id}`, `#/prompt?conversation=${id}`]) {
    await open(place);
    await expect(page.getByRole("combobox", { name: "conversation" })).toHaveValue("Inbox messages");
  }
  await open(`#/trace?conversation=${id}`);
  await expect(page.locator("td.what").first()).toHaveText("Inbox messages");
  await page.locator("th.when a").first().click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Turn in “Inbox messages”");
});
