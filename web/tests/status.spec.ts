// The status view: running a schedule, resuming a workflow, following an error.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expectAccessible } from "./accessibility";
import { expect, horizontalOverflow, test, waitUntilLoaded } from "./fixtures";
import { type DemoServer, signIn, startDemoServer, startEmptyServer } from "./isolated_server";
import { tabTo } from "./keyboard";
import type { RunningServer } from "./server";

let server: DemoServer;
test.beforeAll(async ({ browser }) => {
  server = await startDemoServer(browser);
});
test.afterAll(() => server.stop());
test.beforeEach(({ context }) => server.signInOwner(context));

async function openStatus(page: Page, target: RunningServer = server): Promise<void> {
  await page.goto(`${target.url}/#/status`);
  await waitUntilLoaded(page);
}

const section = (page: Page, name: string) => page.getByRole("region", { name: new RegExp(`^${name}`) });

test("status shows version, store, nodes, schedules, channels, budgets and memory", async ({ page, browserErrors }) => {
  await openStatus(page);
  const status = await page.evaluate(async () => (await fetch("/api/v1/status")).json());
  const main = page.locator("main");
  await expect(main).toContainText(status.server.version);
  await expect(main).toContainText("sqlite");
  await expect(section(page, "Nodes")).toContainText("this one");
  await expect(section(page, "Nodes")).toContainText(status.server.listen);
  await expect(section(page, "Schedules").getByRole("rowheader")).toHaveText([
    /^garden-week/,
    /^heartbeat/,
    /^night/,
    /^stall-check/,
  ]);
  await expect(section(page, "Channels").getByRole("rowheader")).toHaveCount(Object.keys(status.channels).length);
  await expect(section(page, "Budgets")).toContainText("carol");
  await expect(main).toContainText(/memory, private\s*1 observation/);
  await expect(main).toContainText(/events lost\s*0/);
  await expect(section(page, "Tool servers")).toContainText("No tool servers.");
  await expect(section(page, "Deliveries")).toContainText("No deliveries.");
  expect(browserErrors).toEqual([]);
});

test("node list marks gone nodes; queues show their depth", async ({ page }) => {
  await page.route("**/api/v1/status", async (route) => {
    const status = await (await route.fetch()).json();
    const currentNode = {
      node: status.server.node,
      version: "0.1.0",
      listen: status.server.listen,
      started_at: status.now,
      seen_at: status.now,
      here: true,
      gone: false,
    };
    const goneNode = {
      ...currentNode,
      node: "node-the-other-one-of-two",
      listen: "127.0.0.1:7999",
      here: false,
      gone: true,
    };
    await route.fulfill({
      json: {
        ...status,
        nodes: [currentNode, goneNode],
        queues: { inbox: 3, turns: 1, deliveries: 0, outbox: 0, events: 0 },
      },
    });
  });
  await openStatus(page);
  const nodes = section(page, "Nodes").getByRole("row");
  await expect(nodes.filter({ hasText: "this one" })).toHaveCount(1);
  await expect(nodes.filter({ hasText: "127.0.0.1:7999" })).toContainText("gone");
  await expect(section(page, "Queues").getByRole("row", { name: /^inbox/ })).toContainText("3");
});

test("error links to its trace", async ({ page }) => {
  await openStatus(page);
  const error = section(page, "Latest errors").getByRole("listitem").filter({ hasText: "turn failed" }).first();
  await expect(error).toContainText("overloaded (HTTP 529)");
  await error.getByRole("link", { name: "Trace" }).click();
  await waitUntilLoaded(page);
  await expect(page.getByRole("region", { name: "Summary" })).toContainText(
    "Failed after 2 retries: overloaded (HTTP 529).",
  );
});

test("schedule runs by keyboard and its history grows", async ({ page, browserErrors }) => {
  await openStatus(page);
  const row = section(page, "Schedules").getByRole("row", { name: /^heartbeat/ });
  await row.getByRole("button", { name: "History of heartbeat" }).click();
  const history = page.getByRole("list", { name: "History of heartbeat" });
  await expect(history.getByRole("listitem")).toHaveCount(1);
  await row.getByRole("button", { name: "History of heartbeat" }).click();
  await tabTo(page, row.getByRole("button", { name: "Run now: heartbeat" }), "Shift+Tab");
  await page.keyboard.press("Enter");
  await expect(row.getByRole("status")).toContainText("done", { timeout: 20_000 });
  await row.getByRole("button", { name: "History of heartbeat" }).click();
  await expect(history.getByRole("listitem")).toHaveCount(2);
  expect(browserErrors).toEqual([]);
});

test("failed workflow run resumes after its missing note is added", async ({ page }) => {
  await openStatus(page);
  const runs = section(page, "Workflow runs");
  const failed = runs.getByRole("row").filter({ hasText: "social/stall.md" });
  await expect(failed).toContainText("failed");
  await failed.getByRole("button", { name: /^Resume/ }).click();
  const dialog = page.getByRole("dialog", { name: "Resume read-out" });
  await expect(dialog.getByLabel("Retry the step")).toBeChecked();
  await dialog.getByRole("button", { name: "Resume", exact: true }).click();
  await expect(dialog.getByRole("alert")).toContainText("there is no note");

  const folder = join(server.workspace, "memory", "social");
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

test("status refresh keeps focus and scroll position", async ({ page }) => {
  await openStatus(page);
  const button = section(page, "Schedules").getByRole("button", { name: "Run now: night" });
  await button.focus();
  const position = await button.boundingBox();
  let statusResponses = 0;
  page.on("response", (response) => (statusResponses += Number(response.url().endsWith("/api/v1/status"))));
  await expect.poll(() => statusResponses, { timeout: 15_000 }).toBeGreaterThan(1);
  await expect(button).toBeFocused();
  expect((await button.boundingBox())?.y).toBeCloseTo(position?.y ?? 0, 0);
});

test("unreachable server shows an alert and keeps the last data", async ({ page }) => {
  await openStatus(page);
  await page.route("**/api/v1/**", (route) => route.abort());
  await expect(page.getByRole("alert").first()).toContainText("is unreachable", { timeout: 10_000 });
  await expect(section(page, "Nodes")).toContainText("this one");
  const serverFigure = page.locator(".figures > div").filter({ hasText: "server" }).first();
  await expect(serverFigure).toContainText("not reached");
  await page.unroute("**/api/v1/**");
  await expect(page.getByRole("alert")).toHaveCount(0, { timeout: 15_000 });
  await expect(serverFigure).toContainText("ok");
});

test("failed delivery can be retried", async ({ page }) => {
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
  await openStatus(page);
  const row = section(page, "Deliveries").getByRole("row", { name: /signal:bob/ });
  await expect(row).toContainText("given up");
  await expect(row).toContainText("the bridge answered 503");
  await expect(row.getByRole("link", { name: "Trace" })).toHaveAttribute("href", "#/trace/t-1");
  await row.getByRole("button", { name: /^Retry/ }).click();
  await expect(row).toContainText("waiting");
  expect(retried).toBe("POST");
});

for (const scheme of ["light", "dark"] as const)
  test(`status view is accessible on desktop and phone, ${scheme}`, async ({ page, browserErrors }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await openStatus(page);
    await section(page, "Schedules").getByRole("button", { name: "History of stall-check" }).click();
    await section(page, "Workflow runs")
      .getByRole("button", { name: /^Steps/ })
      .first()
      .click();
    await waitUntilLoaded(page);
    await expectAccessible(page);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
    await expectAccessible(page);
    expect(browserErrors).toEqual([]);
  });

test("1,000 channels and long errors cause no overflow", async ({ page }) => {
  await page.route("**/api/v1/status", async (route) => {
    const response = await route.fetch();
    const status = await response.json();
    status.channels = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [
        `signal:${"somebody-with-a-long-name".repeat(3)}-${index}`,
        { last_message: status.now, errors: index % 3 },
      ]),
    );
    status.errors = Array.from({ length: 200 }, () => ({ ...status.errors[0], error: "x".repeat(400) }));
    await route.fulfill({ json: status });
  });
  await openStatus(page);
  await expect(section(page, "Channels").getByRole("rowheader")).toHaveCount(1000);
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
});

test("bob sees only his own status and no alerts", async ({ page, browserErrors }) => {
  await signIn(page, server, "bob", ["chat", "observe"]);
  browserErrors.length = 0;
  await openStatus(page);
  await expect(page.locator("main")).toContainText("this is your part");
  await expect(section(page, "Workflow runs")).toContainText("shared/bookshelf.md");
  await expect(section(page, "Workflow runs")).not.toContainText("weekly-review");
  await expect(section(page, "Schedules")).toHaveCount(0);
  await expect(page.locator("main")).not.toContainText("private");
  await expect(page.getByRole("alert")).toHaveCount(0);
  expect(browserErrors).toEqual([]);
});

test("empty workspace shows empty states", async ({ page, browserErrors }) => {
  const emptyServer = await startEmptyServer();
  try {
    await signIn(page, emptyServer, "alice", ["chat", "observe", "admin"]);
    browserErrors.length = 0;
    await openStatus(page, emptyServer);
    await expect(section(page, "Latest errors")).toContainText("No recent errors.");
    await expect(section(page, "Workflow runs")).toContainText("No workflow runs.");
    await expect(section(page, "Nodes")).toContainText("this one");
    await expectAccessible(page);
    expect(browserErrors).toEqual([]);
  } finally {
    await emptyServer.stop();
  }
});
