import { defineConfig } from "@playwright/test";

// Uses the system's Chromium; Playwright downloads none. Its sandbox is not available to root in a container.
const args = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

/** Concurrent runs need separate result folders. */
const results = process.env.FOREWORD_RESULTS ?? "test-results";

export default defineConfig({
  testDir: "tests",
  // Takes the pictures of the documentation: `make pictures`.
  testIgnore: process.env.FOREWORD_PICTURES ? [] : ["pictures.spec.ts"],
  outputDir: `${results}/failures`,
  timeout: 90_000,
  expect: { timeout: 10_000 },
  workers: 1,
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    launchOptions: { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args },
    viewport: { width: 1280, height: 860 },
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
    trace: "retain-on-failure",
  },
});
