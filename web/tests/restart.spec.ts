// A server that stops during an answer and restarts: the page reconnects, and no text is lost or repeated.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { type Served, serve } from "./server";
import { answered, answers, say } from "./talk";

test.use({ storageState: { cookies: [], origins: [] } });

const WORDS = Array.from({ length: 60 }, (_, at) => `word${at}`);

for (const how of ["SIGTERM", "SIGKILL"] as const) {
  test(`an answer outlasts a server that ends by ${how}`, async ({ page }) => {
    test.setTimeout(180_000);
    const folder = mkdtempSync(join(tmpdir(), "foreword-page-"));
    const home = ["-w", join(folder, "home"), "serve"];
    let served: Served | undefined = await serve([...home, "--demo"]);
    try {
      await page.goto(served.link);
      await page.getByRole("navigation", { name: "Views" }).waitFor();
      await page.goto(`${served.url}/#/chat`);
      await say(page, `!tool foreword_status\n!then\n!slow 100ms\n!say ${WORDS.join(" ")}`);
      await expect(answers(page).last()).toContainText("word5 ", { timeout: 20_000 });
      await ended(served, how);
      await expect(page.getByText("Connection lost. Trying again …")).toBeVisible();
      await say(page, "!say And this was said meanwhile.");
      await expect(page.getByText("waiting for the connection")).toBeVisible();
      served = await serve(home, new URL(served.url).host);
      // The model repeats what it had not finished; the user sees one complete answer.
      const answer = answers(page).first();
      await expect(answer).toContainText("word59", { timeout: 120_000 });
      await expect(page.getByText("Connection lost.")).toBeHidden();
      await expect(answers(page).last()).toContainText("And this was said meanwhile.", { timeout: 20_000 });
      await answered(page);
      await expect(answers(page)).toHaveCount(2);
      expect((await answer.innerText()).match(/word\d+/g)).toEqual(WORDS);
      await expect(answer.locator("details.tool")).toHaveCount(1);
    } finally {
      await served?.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

test("what could not be had while the server was away comes by itself when it is back", async ({ page }) => {
  test.setTimeout(120_000);
  const folder = mkdtempSync(join(tmpdir(), "foreword-page-"));
  const home = ["-w", join(folder, "home"), "serve"];
  let served: Served | undefined = await serve([...home, "--demo"]);
  const away = page.getByText("The server is unreachable.").first();
  try {
    const listen = new URL(served.url).host;
    await page.goto(served.link);
    const summary = page.getByRole("region", { name: "Totals" });
    await expect(summary.getByRole("status")).toContainText("alice");
    await ended(served, "SIGTERM");
    await page.getByLabel("user", { exact: true }).selectOption("bob");
    await expect(away).toBeVisible();
    await expect(page.getByText("`", { exact: false })).toHaveCount(0);
    served = await serve(home, listen);
    await expect(summary.getByRole("status")).toContainText("bob", { timeout: 15_000 });
    await expect(away).toBeHidden();
    // A view that was not loaded yet needs a file from the server.
    await ended(served, "SIGTERM");
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Layers" }).click();
    await expect(away).toBeVisible();
    await expect(page.getByText("another version")).toBeHidden();
    served = await serve(home, listen);
    await expect(page.getByRole("heading", { level: 1, name: "Layers" })).toBeVisible({ timeout: 15_000 });
    await expect(away).toBeHidden();
  } finally {
    await served?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Sends a signal to a server and waits until it exits. */
async function ended(served: Served, how: NodeJS.Signals): Promise<void> {
  served.process.removeAllListeners("exit");
  const gone = new Promise((resolve) => served.process.once("exit", resolve));
  served.process.kill(how);
  await gone;
}
