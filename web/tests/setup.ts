// One demo server for all read-only tests, with a browser signed in by its link.
import { mkdirSync } from "node:fs";
import { chromium, type FullConfig } from "@playwright/test";
import { serve } from "./server";

const RESULTS = process.env.FOREWORD_RESULTS ?? "test-results";

export default async function setup(config: FullConfig): Promise<() => Promise<void>> {
  const served = await serve(["serve", "--demo"]);
  process.env.FOREWORD_PAGE = served.url;
  mkdirSync(RESULTS, { recursive: true });
  const browser = await chromium.launch(config.projects[0]?.use.launchOptions);
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(served.link);
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  await context.storageState({ path: `${RESULTS}/signed-in.json` });
  await browser.close();
  return () => served.stop();
}
