// Starts a real `foreword serve` and stops it at the end.
import { type ChildProcess, spawn } from "node:child_process";

export interface Served {
  url: string;
  /** The one-time sign-in link; a demo always prints one. */
  link: string;
  workspace: string;
  process: ChildProcess;
  stop: () => Promise<void>;
}

const BIN = process.env.FOREWORD_BIN ?? "../target/debug/foreword";

/** Starts `foreword [-w DIR] serve …` and waits until it prints its address and the sign-in link. */
export async function serve(args: string[], listen = "127.0.0.1:0"): Promise<Served> {
  const page = process.env.FOREWORD_PAGE_FILES ? ["--page", process.env.FOREWORD_PAGE_FILES] : [];
  const child = spawn(BIN, [...args, "--listen", listen, ...page], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, NO_COLOR: "1" },
  });
  let said = "";
  const ready = new Promise<{ url: string; link: string; workspace: string }>((resolve, reject) => {
    child.stderr?.on("data", (piece: Buffer) => {
      said += piece.toString();
      const url = /listening on (\S+)/.exec(said)?.[1];
      const link = /(https?:\/\/\S+\/#\/welcome\/[a-z0-9]+)/.exec(said)?.[1];
      const workspace = /demo workspace: (\S+)/.exec(said)?.[1] ?? "";
      const wanted = link ?? (args.includes("--demo") ? undefined : "");
      if (url && wanted !== undefined && said.includes("Ctrl-C stops")) resolve({ url, link: wanted, workspace });
    });
    child.on("exit", (code) => reject(new Error(`foreword ended with ${code}:\n${said}`)));
    setTimeout(() => reject(new Error(`foreword is not ready:\n${said}`)), 60_000).unref();
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
