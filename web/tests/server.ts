// Starts and stops a `foreword serve` process.
import { type ChildProcess, spawn } from "node:child_process";

export interface RunningServer {
  url: string;
  /** The one-time sign-in link; empty if the server prints none. Demo servers always print one. */
  link: string;
  workspace: string;
  process: ChildProcess;
  stop: () => Promise<void>;
}

const BIN = process.env.FOREWORD_BIN ?? "../target/debug/foreword";

/** Starts `foreword [-w DIR] serve …` and waits until it prints its address and the sign-in link. */
export async function startServer(args: string[], listen = "127.0.0.1:0"): Promise<RunningServer> {
  const pageArgs = process.env.FOREWORD_PAGE_FILES ? ["--page", process.env.FOREWORD_PAGE_FILES] : [];
  const child = spawn(BIN, [...args, "--listen", listen, ...pageArgs], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, NO_COLOR: "1" },
  });
  let stderr = "";
  const ready = new Promise<{ url: string; link: string; workspace: string }>((resolve, reject) => {
    child.stderr?.on("data", (chunk: Buffer) => {
      stderr += chunk.toString();
      const url = /listening on (\S+)/.exec(stderr)?.[1];
      const link = /(https?:\/\/\S+\/#\/welcome\/[a-z0-9]+)/.exec(stderr)?.[1];
      const workspace = /demo workspace: (\S+)/.exec(stderr)?.[1] ?? "";
      const requiredLink = link ?? (args.includes("--demo") ? undefined : "");
      if (url && requiredLink !== undefined && stderr.includes("Ctrl-C stops"))
        resolve({ url, link: requiredLink, workspace });
    });
    child.on("exit", (code) => reject(new Error(`foreword ended with ${code}:\n${stderr}`)));
    setTimeout(() => reject(new Error(`foreword is not ready:\n${stderr}`)), 60_000).unref();
  });
  const stop = () =>
    new Promise<void>((resolve) => {
      if (child.exitCode !== null) return resolve();
      child.removeAllListeners("exit");
      child.once("exit", () => resolve());
      child.kill("SIGTERM");
    });
  return { ...(await ready), process: child, stop };
}
