// Shared helpers of the chat tests.
import { execFileSync } from "node:child_process";
import { expect, type Locator, type Page } from "@playwright/test";

export function composer(page: Page): Locator {
  return page.getByRole("textbox", { name: "Message" });
}

/** Types a message and sends it. */
export async function sendMessage(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press("Enter");
}

/** All answers, oldest first. */
export function answers(page: Page): Locator {
  return page.locator("article.answer");
}

/** Waits until the last answer is complete. */
export async function waitForAnswer(page: Page): Promise<Locator> {
  const last = answers(page).last();
  await expect(last).toBeVisible();
  await expect(last).toHaveAttribute("aria-busy", "false", { timeout: 20_000 });
  return last;
}

/** The id of the open conversation. */
export async function currentConversationId(page: Page): Promise<string> {
  await expect(page).toHaveURL(/#\/chat\/.+/);
  return decodeURIComponent(/#\/chat\/([^?]+)/.exec(page.url())?.[1] ?? "");
}

/** Sends a GET request with the cookie of the page. */
export function get<T>(page: Page, path: string): Promise<T> {
  return page.evaluate(async (path) => (await fetch(path)).json(), path) as Promise<T>;
}

/** Sends a POST request with the cookie of the page. */
export function post<T>(page: Page, path: string, body: unknown): Promise<T> {
  return page.evaluate(
    async ({ path, body }) =>
      (
        await fetch(path, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        })
      ).json(),
    { path, body },
  ) as Promise<T>;
}

/** Creates a token for a user of a workspace. */
export function createToken(workspace: string, user: string): string {
  const output = execFileSync(
    process.env.FOREWORD_BIN ?? "../target/debug/foreword",
    ["-w", workspace, "--json", "token", "create", "--user", user],
    { encoding: "utf8" },
  );
  return (JSON.parse(output) as { token: string }).token;
}
