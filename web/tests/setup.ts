// Starts the shared demo server and stores the cookies of a signed-in browser.
import { mkdirSync } from "node:fs";
import { chromium, type FullConfig } from "@playwright/test";
import { startServer } from "./server";

const RESULTS = process.env.FOREWORD_RESULTS ?? "test-results";

export default async function setup(config: FullConfig): Promise<() => Promise<void>> {
  const server = await startServer(["serve", "--demo"]);
  process.env.FOREWORD_PAGE = server.url;
  mkdirSync(RESULTS, { recursive: true });
  const browser = await chromium.launch(config.projects[0]?.use.launchOptions);
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(server.link);
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  await context.storageState({ path: `${RESULTS}/signed-in.json` });
  await browser.close();
  return () => server.stop();
}
