// A separate server for tests that change stored data, and a signed-in user.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import AxeBuilder from "@axe-core/playwright";
import type { Browser, BrowserContext, Page } from "@playwright/test";
import { expect } from "./page";
import { type Served, serve } from "./server";

const BIN = process.env.FOREWORD_BIN ?? "../target/debug/foreword";

export interface Own extends Served {
  /** Signs the test's browser in as the owner. */
  enter: (context: BrowserContext) => Promise<void>;
}

/** A demo server and its owner. */
export async function ownDemo(browser: Browser): Promise<Own> {
  const served = await serve(["serve", "--demo"]);
  const context = await browser.newContext({ storageState: undefined });
  const page = await context.newPage();
  await page.goto(served.link);
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  const { cookies } = await context.storageState();
  await context.close();
  const enter = async (context: BrowserContext) => {
    await context.clearCookies();
    await context.addCookies(cookies);
  };
  return { ...served, enter };
}

/** An empty workspace, as created by `foreword init`. */
export function ownFresh(): Promise<Served> {
  return ownWorkspace("gateway", (config) => config);
}

/** Signs a user in with a token. */
export async function signIn(page: Page, served: Served, user: string, scopes: string[]): Promise<void> {
  const args = [
    "-w",
    served.workspace,
    "--json",
    "token",
    "create",
    "--user",
    user,
    ...scopes.flatMap((scope) => ["--scope", scope]),
  ];
  const { token } = JSON.parse(execFileSync(BIN, args, { encoding: "utf8" })) as { token: string };
  await page.context().clearCookies();
  await page.goto(served.url);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("navigation", { name: "Views" }).waitFor();
}

/** Accepts a completion; the editor ignores keys that arrive too early. */
export async function complete(page: Page): Promise<void> {
  await page.waitForTimeout(150);
  await page.keyboard.press("Enter");
}

/** Serious accessibility violations. */
export async function nothingSerious(page: Page): Promise<void> {
  const found = await new AxeBuilder({ page }).analyze();
  const serious = found.violations.filter((one) => one.impact === "serious" || one.impact === "critical");
  expect(serious.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).join(", ")}`)).toEqual([]);
}

/** A separate workspace, changed by `edit` before it is served. */
export async function ownWorkspace(blueprint: string, edit: (config: string) => string): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), "foreword-page-"));
  const workspace = join(folder, "home");
  execFileSync(BIN, ["init", workspace, "--blueprint", blueprint], { encoding: "utf8" });
  const config = join(workspace, "foreword.yaml");
  writeFileSync(config, edit(readFileSync(config, "utf8")));
  const served = await serve(["-w", workspace, "serve"]);
  const stop = async () => {
    await served.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { ...served, workspace, stop };
}
