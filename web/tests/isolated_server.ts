// Separate servers for tests that change stored data, and signing in to them.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "@playwright/test";
import { type RunningServer, startServer } from "./server";

const BIN = process.env.FOREWORD_BIN ?? "../target/debug/foreword";

export interface DemoServer extends RunningServer {
  /** The cookies of a browser that is signed in as the owner. */
  signedIn: Exclude<BrowserContextOptions["storageState"], string | undefined>;
  /** Signs the test's browser in as the owner. */
  signInOwner: (context: BrowserContext) => Promise<void>;
}

/** Starts a demo server and signs its owner in. */
export async function startDemoServer(browser: Browser): Promise<DemoServer> {
  const server = await startServer(["serve", "--demo"]);
  const context = await browser.newContext({ storageState: undefined });
  const page = await context.newPage();
  await page.goto(server.link);
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  const signedIn = await context.storageState();
  await context.close();
  const signInOwner = async (context: BrowserContext) => {
    await context.clearCookies();
    await context.addCookies(signedIn.cookies);
  };
  return { ...server, signedIn, signInOwner };
}

/** Starts a server with an empty workspace, as created by `foreword init`. */
export function startEmptyServer(): Promise<RunningServer> {
  return startWorkspaceServer("gateway", (config) => config);
}

/** Signs a user in with a token. */
export async function signIn(page: Page, server: RunningServer, user: string, scopes: string[]): Promise<void> {
  const args = [
    "-w",
    server.workspace,
    "--json",
    "token",
    "create",
    "--user",
    user,
    ...scopes.flatMap((scope) => ["--scope", scope]),
  ];
  const { token } = JSON.parse(execFileSync(BIN, args, { encoding: "utf8" })) as { token: string };
  await page.context().clearCookies();
  await page.goto(server.url);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("navigation", { name: "Views" }).waitFor();
}

/** Creates a workspace, changes its configuration with `edit`, and starts a server with it. */
export async function startWorkspaceServer(
  blueprint: string,
  edit: (config: string) => string,
): Promise<RunningServer> {
  const folder = mkdtempSync(join(tmpdir(), "foreword-page-"));
  const workspace = join(folder, "home");
  execFileSync(BIN, ["init", workspace, "--blueprint", blueprint], { encoding: "utf8" });
  const configPath = join(workspace, "foreword.yaml");
  writeFileSync(configPath, edit(readFileSync(configPath, "utf8")));
  const server = await startServer(["-w", workspace, "serve"]);
  const stop = async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { ...server, workspace, stop };
}
