// A server that goes away in the middle of an answer, and comes back: the page goes on by itself, and no word is lost or said
// twice.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { type Served, serve } from "./server";

test.use({ storageState: { cookies: [], origins: [] } });

const WORDS = Array.from({ length: 60 }, (_, at) => `word${at}`);

for (const how of ["SIGTERM", "SIGKILL"] as const) {
  test(`an answer outlasts a server that ends by ${how}`, async ({ page }) => {
    test.setTimeout(120_000);
    const folder = mkdtempSync(join(tmpdir(), "foreword-page-"));
    let served: Served | undefined = await serve(["-w", join(folder, "home"), "serve", "--demo"]);
    try {
      await page.goto(served.link);
      await page.getByRole("navigation", { name: "Views" }).waitFor();
      await page.goto(`${served.url}/#/chat`);
      await page.getByRole("textbox", { name: /message/i }).fill(`!slow 100ms\n!say ${WORDS.join(" ")}`);
      await page.keyboard.press("Enter");
      await expect(page.locator("main")).toContainText("word5 ", { timeout: 20_000 });
      const ended = new Promise((resolve) => served?.process.once("exit", resolve));
      served.process.removeAllListeners("exit");
      served.process.once("exit", () => undefined);
      const gone = new Promise<void>((resolve) => served?.process.once("exit", () => resolve()));
      served.process.kill(how);
      await Promise.race([gone, ended]);
      served = await serve(["-w", join(folder, "home"), "serve"], new URL(served.url).host);
      // What the model had not said when it was cut off is asked for again; the reader sees one answer, whole.
      await expect(page.locator("main")).toContainText("word59", { timeout: 60_000 });
      const shown = await page.locator("main").innerText();
      const answer = shown.slice(shown.lastIndexOf("word0 "));
      const said = answer.match(/word\d+/g) ?? [];
      expect(said).toEqual(WORDS);
    } finally {
      await served?.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
