// Creating a conversation with a slow server or a refused first message: no duplicate, no lost message.
import type { Page } from "@playwright/test";
import { expect, test } from "./page";
import { answered, answers, composer, get, here, say } from "./talk";

/** Delays the creation of conversations until the returned function is called. */
async function held(page: Page): Promise<() => void> {
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

const titled = async (page: Page, title: string) =>
  (await get<{ items: { title: string | null }[] }>(page, "/api/v1/conversations?limit=50")).items.filter(
    (one) => one.title === title,
  );

test("what is said before a conversation has begun goes into the same one", async ({ page, open }) => {
  const release = await held(page);
  await open("#/chat");
  await say(page, "!say the first of two");
  await say(page, "!say the second of two");
  await expect(page.locator("article.unsent")).toHaveCount(2);
  release();
  await expect(answers(page)).toHaveCount(2, { timeout: 15_000 });
  await answered(page);
  const { items } = await get<{ items: { role: string }[] }>(
    page,
    `/api/v1/conversations/${await here(page)}/messages`,
  );
  expect(items.filter((message) => message.role === "user")).toHaveLength(2);
  expect(await titled(page, "!say the second of two")).toHaveLength(0);
});

test("a first message that is refused stays in sight, with the reason, and can be tried again", async ({
  page,
  open,
}) => {
  let refuses = true;
  await page.routeWebSocket(/\/ws$/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((text) => {
      const said = JSON.parse(String(text)) as { type: string; id: string };
      if (said.type !== "message" || !refuses) return server.send(text);
      socket.send(
        JSON.stringify({
          type: "problem",
          inReplyTo: said.id,
          status: 429,
          code: "too_many_turns",
          detail: "too many turns are under way",
          help: "wait until one has ended",
        }),
      );
    });
  });
  await open("#/chat");
  await say(page, "!say at the second attempt");
  const letter = page.locator("article.unsent");
  await expect(letter.getByRole("alert")).toContainText("too many turns are under way");
  await expect(letter.getByRole("alert")).toContainText("wait until one has ended");
  const conversation = await here(page);
  await page.reload();
  await expect(letter.getByRole("alert")).toContainText("too many turns are under way");
  refuses = false;
  await letter.getByRole("button", { name: "Try again" }).click();
  await expect(await answered(page)).toContainText("at the second attempt");
  expect(await here(page)).toBe(conversation);
});

test("what is being typed while a conversation begins stays in the field", async ({ page, open }) => {
  const release = await held(page);
  await open("#/chat");
  await say(page, "!say begun");
  await composer(page).fill("half a thought");
  release();
  await answered(page);
  await expect(composer(page)).toHaveValue("half a thought");
  await page.reload();
  await expect(composer(page)).toHaveValue("half a thought");
  await page.getByRole("link", { name: "New chat" }).click();
  await expect(composer(page)).toHaveValue("");
});

test("whoever goes to another view while a conversation begins stays there, and finds it later", async ({
  page,
  open,
}) => {
  const release = await held(page);
  await open("#/chat");
  await say(page, "!say found later");
  await expect(page.locator("article.unsent")).toHaveCount(1);
  const views = page.getByRole("navigation", { name: "Views" });
  await views.getByRole("link", { name: "Layers" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Layers" })).toBeVisible();
  const begun = page.waitForResponse(
    (response) => response.url().endsWith("/api/v1/conversations") && response.request().method() === "POST",
  );
  release();
  await begun;
  await page.waitForTimeout(300);
  await expect(page.getByRole("heading", { level: 1, name: "Layers" })).toBeVisible();
  await views.getByRole("link", { name: "Chat" }).click();
  await expect(await answered(page)).toContainText("found later");
  await here(page);
  expect(await titled(page, "!say found later")).toHaveLength(1);
});
