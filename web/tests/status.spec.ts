// The status view: running a schedule, resuming a workflow, following an error.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { tabTo } from "./keys";
import { nothingSerious, type Own, ownDemo, ownFresh, signIn } from "./own";
import { expect, overflow, settled, test } from "./page";
import type { Served } from "./server";

let served: Own;
test.beforeAll(async ({ browser }) => {
  served = await ownDemo(browser);
});
test.afterAll(() => served.stop());
test.beforeEach(({ context }) => served.enter(context));

async function at(page: Page, from: Served = served): Promise<void> {
  await page.goto(`${from.url}/#/status`);
  await settled(page);
}

const part = (page: Page, name: string) => page.getByRole("region", { name: new RegExp(`^${name}`) });

test("all is told: version, store, nodes, schedules, channels, budgets, memory, errors", async ({ page, troubles }) => {
  await at(page);
  const told = await page.evaluate(async () => (await fetch("/api/v1/status")).json());
  const main = page.locator("main");
  await expect(main).toContainText(told.server.version);
  await expect(main).toContainText("sqlite");
  await expect(part(page, "Nodes")).toContainText("this one");
  await expect(part(page, "Nodes")).toContainText(told.server.listen);
  await expect(part(page, "Schedules").getByRole("rowheader")).toHaveText([
    /^garden-week/,
    /^heartbeat/,
    /^night/,
    /^stall-check/,
  ]);
  await expect(part(page, "Channels").getByRole("rowheader")).toHaveCount(Object.keys(told.channels).length);
  await expect(part(page, "Budgets")).toContainText("carol");
  await expect(main).toContainText(/memory, private\s*1 observation/);
  await expect(main).toContainText(/events lost\s*0/);
  await expect(part(page, "Tool servers")).toContainText("No tool servers.");
  await expect(part(page, "Deliveries")).toContainText("No deliveries.");
  expect(troubles).toEqual([]);
});

test("several nodes are told apart, and what waits has its depth", async ({ page }) => {
  await page.route("**/api/v1/status", async (route) => {
    const told = await (await route.fetch()).json();
    const here = {
      node: told.server.node,
      version: "0.1.0",
      listen: told.server.listen,
      started_at: told.now,
      seen_at: told.now,
      here: true,
      gone: false,
    };
    const other = { ...here, node: "node-the-other-one-of-two", listen: "127.0.0.1:7999", here: false, gone: true };
    await route.fulfill({
      json: { ...told, nodes: [here, other], queues: { inbox: 3, turns: 1, deliveries: 0, outbox: 0, events: 0 } },
    });
  });
  await at(page);
  const nodes = part(page, "Nodes").getByRole("row");
  await expect(nodes.filter({ hasText: "this one" })).toHaveCount(1);
  await expect(nodes.filter({ hasText: "127.0.0.1:7999" })).toContainText("gone");
  await expect(part(page, "Queues").getByRole("row", { name: /^inbox/ })).toContainText("3");
});

test("an error leads to its trace", async ({ page }) => {
  await at(page);
  const error = part(page, "Latest errors").getByRole("listitem").filter({ hasText: "turn failed" }).first();
  await expect(error).toContainText("overloaded (HTTP 529)");
  await error.getByRole("link", { name: "Trace" }).click();
  await settled(page);
  await expect(page.getByRole("region", { name: "Summary" })).toContainText(
    "Failed after 2 retries: overloaded (HTTP 529).",
  );
});

test("a schedule is run now, by the keyboard, and its history grows", async ({ page, troubles }) => {
  await at(page);
  const row = part(page, "Schedules").getByRole("row", { name: /^heartbeat/ });
  await row.getByRole("button", { name: "History of heartbeat" }).click();
  const history = page.getByRole("list", { name: "History of heartbeat" });
  await expect(history.getByRole("listitem")).toHaveCount(1);
  await row.getByRole("button", { name: "History of heartbeat" }).click();
  await tabTo(page, row.getByRole("button", { name: "Run now: heartbeat" }), "Shift+Tab");
  await page.keyboard.press("Enter");
  await expect(row.getByRole("status")).toContainText("done", { timeout: 20_000 });
  await row.getByRole("button", { name: "History of heartbeat" }).click();
  await expect(history.getByRole("listitem")).toHaveCount(2);
  expect(troubles).toEqual([]);
});

test("a workflow run that failed is gone on with once what it missed is there", async ({ page }) => {
  await at(page);
  const runs = part(page, "Workflow runs");
  const failed = runs.getByRole("row").filter({ hasText: "social/stall.md" });
  await expect(failed).toContainText("failed");
  await failed.getByRole("button", { name: /^Resume/ }).click();
  const dialog = page.getByRole("dialog", { name: "Resume read-out" });
  await expect(dialog.getByLabel("Retry the step")).toBeChecked();
  await dialog.getByRole("button", { name: "Resume", exact: true }).click();
  await expect(dialog.getByRole("alert")).toContainText("there is no note");

  const folder = join(served.workspace, "memory", "social");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "stall.md"),
    "---\ndescription: the honesty stall\n---\n\nCarol fills the shelves on Friday.\n",
  );
  await expect(async () => {
    await dialog.getByRole("button", { name: "Resume", exact: true }).click();
    await expect(dialog).toBeHidden({ timeout: 4000 });
  }).toPass({ timeout: 30_000 });
  await expect(failed).toContainText("done");
  await failed.getByRole("button", { name: /^Steps/ }).click();
  await expect(runs.getByText("failed before:")).toBeVisible();
  await expect(runs.getByText(/try \d/)).toBeVisible();
});

test("it is asked again by itself, without losing the focus or jumping", async ({ page }) => {
  await at(page);
  const button = part(page, "Schedules").getByRole("button", { name: "Run now: night" });
  await button.focus();
  const place = await button.boundingBox();
  let asked = 0;
  page.on("response", (response) => (asked += Number(response.url().endsWith("/api/v1/status"))));
  await expect.poll(() => asked, { timeout: 15_000 }).toBeGreaterThan(1);
  await expect(button).toBeFocused();
  expect((await button.boundingBox())?.y).toBeCloseTo(place?.y ?? 0, 0);
});

test("a server that goes away is told of, and what was known stays", async ({ page }) => {
  await at(page);
  await page.route("**/api/v1/**", (route) => route.abort());
  await expect(page.getByRole("alert").first()).toContainText("is unreachable", { timeout: 10_000 });
  await expect(part(page, "Nodes")).toContainText("this one");
  const server = page.locator(".figures > div").filter({ hasText: "server" }).first();
  await expect(server).toContainText("not reached");
  await page.unroute("**/api/v1/**");
  await expect(page.getByRole("alert")).toHaveCount(0, { timeout: 15_000 });
  await expect(server).toContainText("ok");
});

test("a failed delivery is retried", async ({ page }) => {
  let retried = "";
  await page.route("**/api/v1/channels/deliveries?**", (route) =>
    route.fulfill({
      json: {
        items: [
          {
            id: "d-1",
            channel: "signal:bob",
            conversation: "bookshelf",
            status: retried ? "waiting" : "given_up",
            attempts: 12,
            createdAt: "2026-11-16T02:00:00Z",
            dueAt: "2026-11-17T02:00:00Z",
            error: "the bridge answered 503",
            turn: "t-1",
          },
        ],
        next: null,
      },
    }),
  );
  await page.route("**/api/v1/channels/deliveries/d-1/retry", (route) => {
    retried = route.request().method();
    return route.fulfill({ json: {} });
  });
  await at(page);
  const row = part(page, "Deliveries").getByRole("row", { name: /signal:bob/ });
  await expect(row).toContainText("given up");
  await expect(row).toContainText("the bridge answered 503");
  await expect(row.getByRole("link", { name: "Trace" })).toHaveAttribute("href", "#/trace/t-1");
  await row.getByRole("button", { name: /^Retry/ }).click();
  await expect(row).toContainText("waiting");
  expect(retried).toBe("POST");
});

for (const scheme of ["light", "dark"] as const)
  test(`it reads well in the ${scheme}, at a desk and on a phone`, async ({ page, troubles }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await at(page);
    await part(page, "Schedules").getByRole("button", { name: "History of stall-check" }).click();
    await part(page, "Workflow runs")
      .getByRole("button", { name: /^Steps/ })
      .first()
      .click();
    await settled(page);
    await nothingSerious(page);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    await nothingSerious(page);
    expect(troubles).toEqual([]);
  });

test("a thousand channels and errors with long names fit", async ({ page }) => {
  await page.route("**/api/v1/status", async (route) => {
    const answer = await route.fetch();
    const told = await answer.json();
    told.channels = Object.fromEntries(
      Array.from({ length: 1000 }, (_, at) => [
        `signal:${"somebody-with-a-long-name".repeat(3)}-${at}`,
        { last_message: told.now, errors: at % 3 },
      ]),
    );
    told.errors = Array.from({ length: 200 }, () => ({ ...told.errors[0], error: "x".repeat(400) }));
    await route.fulfill({ json: told });
  });
  await at(page);
  await expect(part(page, "Channels").getByRole("rowheader")).toHaveCount(1000);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await overflow(page)).toBeLessThanOrEqual(0);
});

test("bob sees what is his, and nothing is an alarm", async ({ page, troubles }) => {
  await signIn(page, served, "bob", ["chat", "observe"]);
  troubles.length = 0;
  await at(page);
  await expect(page.locator("main")).toContainText("this is your part");
  await expect(part(page, "Workflow runs")).toContainText("shared/bookshelf.md");
  await expect(part(page, "Workflow runs")).not.toContainText("weekly-review");
  await expect(part(page, "Schedules")).toHaveCount(0);
  await expect(page.locator("main")).not.toContainText("private");
  await expect(page.getByRole("alert")).toHaveCount(0);
  expect(troubles).toEqual([]);
});

test("a fresh workspace says what would be where", async ({ page, troubles }) => {
  const fresh = await ownFresh();
  try {
    await signIn(page, fresh, "alice", ["chat", "observe", "admin"]);
    troubles.length = 0;
    await at(page, fresh);
    await expect(part(page, "Latest errors")).toContainText("No recent errors.");
    await expect(part(page, "Workflow runs")).toContainText("No workflow runs.");
    await expect(part(page, "Nodes")).toContainText("this one");
    await nothingSerious(page);
    expect(troubles).toEqual([]);
  } finally {
    await fresh.stop();
  }
});
