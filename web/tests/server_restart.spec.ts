// A server that stops during an answer and restarts: the page reconnects, and no text is lost or repeated.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { answers, sendMessage, waitForAnswer } from "./chat_helpers";
import { type RunningServer, startServer } from "./server";

test.use({ storageState: { cookies: [], origins: [] } });

const WORDS = Array.from({ length: 60 }, (_, index) => `word${index}`);

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  test(`answer survives a server stopped by ${signal}`, async ({ page }) => {
    test.setTimeout(180_000);
    const folder = mkdtempSync(join(tmpdir(), "foreword-page-"));
    const serveArgs = ["-w", join(folder, "home"), "serve"];
    let server: RunningServer | undefined = await startServer([...serveArgs, "--demo"]);
    try {
      await page.goto(server.link);
      await page.getByRole("navigation", { name: "Views" }).waitFor();
      await page.goto(`${server.url}/#/chat`);
      await sendMessage(page, `!tool foreword_status\n!then\n!slow 100ms\n!say ${WORDS.join(" ")}`);
      await expect(answers(page).last()).toContainText("word5 ", { timeout: 20_000 });
      await stopServer(server, signal);
      await expect(page.getByText("Connection lost. Trying again …")).toBeVisible();
      await sendMessage(page, "!say And this was said meanwhile.");
      await expect(page.getByText("waiting for the connection")).toBeVisible();
      server = await startServer(serveArgs, new URL(server.url).host);
      // The model repeats the unfinished call; the user sees one complete answer.
      const answer = answers(page).first();
      await expect(answer).toContainText("word59", { timeout: 120_000 });
      await expect(page.getByText("Connection lost.")).toBeHidden();
      await expect(answers(page).last()).toContainText("And this was said meanwhile.", { timeout: 20_000 });
      await waitForAnswer(page);
      await expect(answers(page)).toHaveCount(2);
      expect((await answer.innerText()).match(/word\d+/g)).toEqual(WORDS);
      await expect(answer.locator("details.tool")).toHaveCount(1);
    } finally {
      await server?.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

test("failed requests are retried when the server is back", async ({ page }) => {
  test.setTimeout(120_000);
  const folder = mkdtempSync(join(tmpdir(), "foreword-page-"));
  const serveArgs = ["-w", join(folder, "home"), "serve"];
  let server: RunningServer | undefined = await startServer([...serveArgs, "--demo"]);
  const unreachableNotice = page.getByText("The server is unreachable.").first();
  try {
    const listen = new URL(server.url).host;
    await page.goto(server.link);
    const summary = page.getByRole("region", { name: "Totals" });
    await expect(summary.getByRole("status")).toContainText("alice");
    await stopServer(server, "SIGTERM");
    await page.getByLabel("user", { exact: true }).selectOption("bob");
    await expect(unreachableNotice).toBeVisible();
    await expect(page.getByText("`", { exact: false })).toHaveCount(0);
    server = await startServer(serveArgs, listen);
    await expect(summary.getByRole("status")).toContainText("bob", { timeout: 15_000 });
    await expect(unreachableNotice).toBeHidden();
    // A view that was not open before loads its script from the server.
    await stopServer(server, "SIGTERM");
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Layers" }).click();
    await expect(unreachableNotice).toBeVisible();
    await expect(page.getByText("another version")).toBeHidden();
    server = await startServer(serveArgs, listen);
    await expect(page.getByRole("heading", { level: 1, name: "Layers" })).toBeVisible({ timeout: 15_000 });
    await expect(unreachableNotice).toBeHidden();
  } finally {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Sends a signal to a server and waits until it exits. */
async function stopServer(server: RunningServer, signal: NodeJS.Signals): Promise<void> {
  server.process.removeAllListeners("exit");
  const exited = new Promise((resolve) => server.process.once("exit", resolve));
  server.process.kill(signal);
  await exited;
}
