#!/usr/bin/env node
// Starts the program of this platform, which is in an optional dependency. Has no dependencies and no install script.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

function programPath() {
  const platform = `${process.platform}-${process.arch}`;
  const name = `@foreword/cli-${platform}`;
  const file = process.platform === "win32" ? "foreword.exe" : "foreword";
  try {
    return require.resolve(`${name}/${file}`);
  } catch {
    process.stderr.write(
      `error: the package ${name} is not installed\n` +
        "  help: install foreword again without --omit=optional; supported are Linux with glibc and macOS (x64, arm64) and Windows (x64)\n",
    );
    process.exit(1);
  }
}

const child = spawn(programPath(), process.argv.slice(2), { stdio: "inherit" });

// A terminal sends Ctrl-C to both processes: this one waits for the other. Passed on, it would count as the second signal,
// which ends a server at once.
process.on("SIGINT", () => {});
process.on("SIGHUP", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));

child.on("error", (error) => {
  process.stderr.write(`error: can't start the program: ${error.message}\n`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(signal === null ? code : 128 + constants.signals[signal]);
});
