import { defineConfig } from "@playwright/test";

// Chromium is Debian's; Playwright brings none. As root, and in a container, its sandbox can't be had.
const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];

/** Where results go: several runs at once need several places. */
const results = process.env.FOREWORD_RESULTS ?? "test-results";

export default defineConfig({
  testDir: "tests",
  outputDir: `${results}/failures`,
  timeout: 90_000,
  expect: { timeout: 10_000 },
  // Shared machines are slow now and then; what is wrong stays wrong, and what is not is named as flaky.
  retries: 1,
  workers: 1,
  reporter: [["list"]],
  globalSetup: "./tests/setup.ts",
  use: {
    browserName: "chromium",
    launchOptions: { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args },
    viewport: { width: 1280, height: 860 },
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
    storageState: `${results}/signed-in.json`,
    trace: "retain-on-failure",
  },
});
