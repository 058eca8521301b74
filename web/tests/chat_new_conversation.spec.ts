// Creating a conversation with a slow server or a rejected first message: no duplicates, no lost messages.
import type { Page } from "@playwright/test";
import { answers, composer, currentConversationId, get, sendMessage, waitForAnswer } from "./chat_helpers";
import { expect, test, waitUntilLoaded } from "./fixtures";

/** Delays the creation of conversations until the returned function is called. */
async function delayCreation(page: Page): Promise<() => void> {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/api/v1/conversations", async (route) => {
    if (route.request().method() === "POST") await released;
    await route.continue();
  });
  return release;
}

const conversationsTitled = async (page: Page, title: string) =>
  (await get<{ items: { title: string | null }[] }>(page, "/api/v1/conversations?limit=50")).items.filter(
    (conversation) => conversation.title === title,
  );

test("messages sent during creation go into one conversation", async ({ page, open }) => {
  const release = await delayCreation(page);
  await open("#/chat");
  await sendMessage(page, "!say the first of two");
  await sendMessage(page, "!say the second of two");
  await expect(page.locator("article.unsent")).toHaveCount(2);
  release();
  await expect(answers(page)).toHaveCount(2, { timeout: 15_000 });
  await waitForAnswer(page);
  const { items } = await get<{ items: { role: string }[] }>(
    page,
    `/api/v1/conversations/${await currentConversationId(page)}/messages`,
  );
  expect(items.filter((message) => message.role === "user")).toHaveLength(2);
  expect(await conversationsTitled(page, "!say the second of two")).toHaveLength(0);
});

test("rejected first message shows the reason and can be retried", async ({ page, open }) => {
  let rejecting = true;
  await page.routeWebSocket(/\/ws$/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((text) => {
      const message = JSON.parse(String(text)) as { type: string; id: string };
      if (message.type !== "message" || !rejecting) return server.send(text);
      socket.send(
        JSON.stringify({
          type: "problem",
          inReplyTo: message.id,
          status: 429,
          code: "too_many_turns",
          detail: "too many turns are running",
          help: "wait until one has ended",
        }),
      );
    });
  });
  await open("#/chat");
  await sendMessage(page, "!say at the second attempt");
  const unsentMessage = page.locator("article.unsent");
  await expect(unsentMessage.getByRole("alert")).toContainText("too many turns are running");
  await expect(unsentMessage.getByRole("alert")).toContainText("wait until one has ended");
  const conversation = await currentConversationId(page);
  await page.reload();
  await expect(unsentMessage.getByRole("alert")).toContainText("too many turns are running");
  rejecting = false;
  await unsentMessage.getByRole("button", { name: "Try again" }).click();
  await expect(await waitForAnswer(page)).toContainText("at the second attempt");
  expect(await currentConversationId(page)).toBe(conversation);
});

test("draft typed during creation stays in the composer", async ({ page, open }) => {
  const release = await delayCreation(page);
  await open("#/chat");
  await sendMessage(page, "!say begun");
  await composer(page).fill("half a thought");
  release();
  await waitForAnswer(page);
  await expect(composer(page)).toHaveValue("half a thought");
  await page.reload();
  await expect(composer(page)).toHaveValue("half a thought");
  await page.getByRole("link", { name: "New chat" }).click();
  await expect(composer(page)).toHaveValue("");
});

test("navigation during creation keeps the new view and one conversation", async ({ page, open }) => {
  const release = await delayCreation(page);
  await open("#/chat");
  await sendMessage(page, "!say found later");
  await expect(page.locator("article.unsent")).toHaveCount(1);
  const views = page.getByRole("navigation", { name: "Views" });
  await views.getByRole("link", { name: "Layers" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Layers" })).toBeVisible();
  const created = page.waitForResponse(
    (response) => response.url().endsWith("/api/v1/conversations") && response.request().method() === "POST",
  );
  release();
  await created;
  await page.waitForTimeout(300);
  await expect(page.getByRole("heading", { level: 1, name: "Layers" })).toBeVisible();
  await views.getByRole("link", { name: "Chat" }).click();
  await expect(await waitForAnswer(page)).toContainText("found later");
  await currentConversationId(page);
  expect(await conversationsTitled(page, "!say found later")).toHaveLength(1);
});

test("reload during navigation reopens the created conversation", async ({ page, open }) => {
  await open("#/chat");
  await sendMessage(page, "!say here");
  await waitForAnswer(page);
  const conversation = await currentConversationId(page);
  // As if the reload had started before the page changed its URL.
  await page.evaluate(() => history.replaceState(null, "", "#/chat"));
  await page.reload();
  await expect(page).toHaveURL(new RegExp(`#/chat/${conversation}$`));
  await expect(answers(page).last()).toContainText("here");
  await page.getByRole("link", { name: "New chat" }).first().click();
  await expect(page).toHaveURL(/#\/chat$/);
  await page.reload();
  await waitUntilLoaded(page);
  await expect(page.getByText("A new conversation")).toBeVisible();
});
