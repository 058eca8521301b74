// The prompt view: layers by occasion, withheld layers, costs, and epochs.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expectAccessible } from "./accessibility";
import { get } from "./chat_helpers";
import { expect, horizontalOverflow, test, waitUntilLoaded } from "./fixtures";
import { tabTo } from "./keyboard";
import { type RunningServer, startServer } from "./server";

const layers = (page: Page) => page.getByRole("list", { name: "Layers, in the order the model reads them" });
const layer = (page: Page, name: string | RegExp) => layers(page).getByRole("button", { name });
const summary = (page: Page) => page.getByRole("region", { name: "Totals" });
const card = (page: Page, title: string) => page.getByRole("region", { name: `Layer ${title}` });
const preset = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

/** The value of a figure in the summary, such as `Warm turn`. */
async function figure(page: Page, name: string): Promise<string> {
  return (await summary(page).locator("dl > div").filter({ hasText: name }).locator("dd").first().textContent()) ?? "";
}

const dollars = (text: string) => Number(text.replace(/[^0-9.]/g, ""));

test("layer heights follow tokens; warm turn costs less than cold", async ({ page, open, browserErrors }) => {
  await open("#/prompt");
  await expect(summary(page).getByRole("status")).toHaveText(/alice, private.*nothing withheld, [\d,]+ tokens/);
  const names = await layers(page).locator("button .title").allTextContents();
  expect(names.slice(0, 3)).toEqual(["Precedence", "Soul", "Behaviour"]);
  const heights = await layers(page)
    .locator("button")
    .evaluateAll((all) => all.map((element) => (element as HTMLElement).offsetHeight));
  const tools = heights[names.indexOf("Tools")] ?? 0;
  expect(tools).toBeGreaterThan(3 * (heights[names.indexOf("Soul")] ?? 0));
  expect(Math.min(...heights)).toBeGreaterThanOrEqual(30);
  await expect(layers(page).getByText(/cache breakpoint: [\d,]+ tokens above are cached/)).toHaveCount(2);
  await expect(layers(page).getByText("new with every turn, at the head of the message")).toBeVisible();
  expect(dollars(await figure(page, "Warm turn"))).toBeLessThan(dollars(await figure(page, "Cold turn")));
  const legend = page.getByRole("region", { name: "Stability" });
  for (const word of ["static", "agent", "conversation", "turn"])
    await expect(legend.getByText(word, { exact: true })).toBeVisible();
  expect(browserErrors).toEqual([]);
});

test("group occasion for bob withholds private layers and lowers totals", async ({ page, open, browserErrors }) => {
  await open("#/prompt");
  await preset(page, "alice, private").click();
  const heartbeat = layer(page, /HEARTBEAT/);
  await expect(heartbeat).toHaveAttribute("data-status", "included");
  const before = {
    tokens: await figure(page, "Tokens"),
    warm: await figure(page, "Warm turn"),
    ground: await heartbeat.evaluate((element) => getComputedStyle(element).backgroundColor),
  };
  const element = await heartbeat.elementHandle();

  await preset(page, "bob, group").click();
  await expect(summary(page).getByRole("status")).toHaveText(/bob, group.*3 layers withheld, [\d,]+ tokens/);
  for (const [name, requiredTrust] of [
    ["HEARTBEAT.md", "full"],
    ["USER.md", "inner"],
    [/^MEMORY\.md/, "full"],
  ] as const) {
    await expect(layer(page, name)).toHaveAttribute("data-status", "withheld");
    await expect(layer(page, name)).toContainText(`needs ${requiredTrust}, this is familiar`);
  }
  // The same element stays in the same position: it fades, and the layout does not jump.
  expect(
    await element?.evaluate((element) => element.isConnected && getComputedStyle(element).transitionDuration !== "0s"),
  ).toBe(true);
  const names = await layers(page).locator("button .title").allTextContents();
  expect(names.indexOf("HEARTBEAT.md")).toBe(names.indexOf("Tools") - 1);
  await expect
    .poll(() => heartbeat.evaluate((element) => getComputedStyle(element).backgroundColor))
    .not.toBe(before.ground);
  await expect(layer(page, /Situation/)).toHaveAttribute("data-status", "included");
  expect(dollars(await figure(page, "Tokens"))).toBeLessThan(dollars(before.tokens));
  expect(dollars(await figure(page, "Warm turn"))).toBeLessThan(dollars(before.warm));
  expect(page.url()).toContain("user=bob&situation=group");
  await expect(page.locator("main")).not.toContainText("birthday or an anniversary");

  await page.reload();
  await waitUntilLoaded(page);
  await expect(preset(page, "bob, group")).toHaveAttribute("aria-pressed", "true");
  await page.goBack();
  await expect(summary(page).getByRole("status")).toHaveText(/alice, private.*nothing withheld/);
  expect(browserErrors).toEqual([]);
});

test("totals stay alice's until bob's prompt has loaded", async ({ page, open }) => {
  await open("#/prompt");
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/api/v1/prompts/build?**", async (route) => {
    if ((route.request().postDataJSON() as { user?: string }).user === "bob") await released;
    await route.continue();
  });
  await preset(page, "bob, group").click();
  await expect(preset(page, "bob, group")).toHaveAttribute("aria-pressed", "true");
  await expect(page.locator(".beside")).toHaveAttribute("aria-busy", "true");
  await expect(summary(page).getByRole("status")).toHaveText(/alice, private.*nothing withheld/);
  release();
  await expect(summary(page).getByRole("status")).toHaveText(/bob, group.*3 layers withheld/);
  await expect(page.locator(".beside")).toHaveAttribute("aria-busy", "false");
});

for (const [tab, listName] of [
  ["stack", "Layers, in the order the model reads them"],
  ["compare", "Layers side by side"],
] as const) {
  test(`failed occasions request can be retried: ${tab}`, async ({ page, open }) => {
    await page.route("**/api/v1/occasions", (route) =>
      route.fulfill({
        status: 503,
        json: { code: "busy", detail: "the server has too much to do", help: "try again in a moment" },
      }),
    );
    await open(`#/prompt?tab=${tab}`);
    await expect(page.getByRole("alert")).toHaveCount(1);
    await expect(page.getByRole("alert")).toContainText("The server has too much to do.");
    await page.unroute("**/api/v1/occasions");
    await page.getByRole("alert").getByRole("button", { name: "Try again" }).click();
    await expect(page.getByRole("list", { name: listName })).toBeVisible();
    await expect(page.getByLabel("user").first()).toContainText("carol");
    await expect(page.getByRole("alert")).toHaveCount(0);
  });
}

test("reduced motion disables transitions", async ({ page, open }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await open("#/prompt");
  expect(await layer(page, /Soul/).evaluate((element) => getComputedStyle(element).transitionDuration)).toBe("0s");
});

test("layer card shows source, trust, authority, stability, tokens and hash", async ({ page, open }) => {
  await open("#/prompt");
  await layer(page, /Soul/).click();
  const soul = card(page, "Soul");
  await expect(soul).toContainText("a file of the workspace: SOUL.md");
  await expect(soul).toContainText("only with familiar trust");
  await expect(soul).toContainText("identity: who the agent is");
  await expect(soul).toContainText("changes with this agent's files");
  await expect(soul).toContainText(/121 \([\d.]+ % of the prompt\)/);
  await expect(soul).toContainText(/blake3:[0-9a-f]{12}…/);
  await expect(soul.getByLabel("Text of Soul")).toContainText("You are the assistant of a small household");
  await soul.getByRole("button", { name: "Close" }).click();
  await expect(layer(page, /Soul/)).toBeFocused();
});

test("withheld layer shows reason and link; empty layers are collapsed", async ({ page, open }) => {
  await open("#/prompt?user=bob&situation=group");
  await layer(page, /HEARTBEAT/).click();
  await expect(card(page, "HEARTBEAT.md")).toContainText("Not loaded for this occasion");
  await card(page, "HEARTBEAT.md").getByRole("link", { name: "See it in your own prompt" }).click();
  await expect(card(page, "HEARTBEAT.md").getByLabel("Text of HEARTBEAT.md")).toContainText("On the periodic check");
  await page.getByText("2 layers with nothing in them").click();
  await expect(page.getByText("absent: there is no channels/terminal.md")).toBeVisible();
});

test("flat text names the layer under pointer, cursor and focus", async ({ page, open }) => {
  await open("#/prompt?tab=text");
  const currentLayer = page.getByRole("region", { name: "Layer under the cursor" });
  await page.getByText("You would rather say").hover();
  await expect(currentLayer.getByRole("heading")).toHaveText("Soul");
  await page.getByText("Prices are in euros").click();
  await expect(currentLayer.getByRole("heading")).toHaveText("TOOLS.md");
  await page.getByRole("region", { name: "Runtime, turn" }).focus();
  await expect(currentLayer.getByRole("heading")).toHaveText("Runtime");
  await page.keyboard.press("ArrowDown");
  await expect(currentLayer.getByRole("heading")).toHaveText("Memory");
  // The text matches also after multi-byte characters: the tool menu contains many dashes.
  const builtText = await page.evaluate(async () => {
    const response = await fetch("/api/v1/prompts/build", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    return ((await response.json()) as { text: string }).text;
  });
  const shownText = await page
    .locator(".text-line")
    .evaluateAll((lines) => lines.map((line) => line.textContent).join("\n"));
  expect(shownText.replace(/Time: .*/, "")).toBe(builtText.replace(/Time: .*/, ""));
});

test("comparison shows which layers of two occasions differ", async ({ page, open, browserErrors }) => {
  await open("#/prompt?tab=compare");
  const pairs = page.getByRole("list", { name: "Layers side by side" });
  await expect(page.getByText(/6 the same, 3 differ, 3 only on the left, 1 only on the right\./)).toBeVisible();
  await expect(pairs.getByRole("button", { name: /HEARTBEAT/ })).toContainText("only on the left");
  await expect(pairs.getByRole("button", { name: /HEARTBEAT/ })).toContainText(
    "withheld, needs full, this is familiar",
  );
  await expect(pairs.getByRole("button", { name: /Soul/ })).toContainText("the same");
  await pairs.getByRole("button", { name: /^Tools/ }).click();
  await expect(page.locator(".diff").getByText("bash").first()).toBeVisible();
  await page.getByRole("button", { name: "Swap sides" }).click();
  await expect(page.getByText(/1 only on the left, 3 only on the right\./)).toBeVisible();
  expect(page.url()).toContain("user=bob");
  await page.getByRole("group", { name: "On the left" }).getByLabel("user").selectOption("carol");
  await expect(page.getByRole("columnheader", { name: "carol, group" })).toBeVisible();
  await expectAccessible(page);
  expect(browserErrors).toEqual([]);
});

test("prompt is copied as provider JSON, or shown in a dialog", async ({ page, open, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open("#/prompt?user=bob&situation=group");
  await page.getByRole("button", { name: "Copy as Anthropic JSON" }).click();
  await expect(page.getByText("Copied as Anthropic JSON.")).toBeVisible();
  const anthropic = JSON.parse(await page.evaluate(() => navigator.clipboard.readText())) as {
    system: { cache_control?: object }[];
  };
  expect(anthropic.system.some((block) => block.cache_control)).toBe(true);
  await page.getByRole("button", { name: "Copy as OpenAI JSON" }).click();
  await expect(page.getByText("Copied as OpenAI JSON.")).toBeVisible();
  const openai = JSON.parse(await page.evaluate(() => navigator.clipboard.readText())) as {
    messages: { role: string; content: string }[];
  };
  expect(openai.messages[0]?.content).toContain("These rules come first");
  expect(JSON.stringify(openai)).not.toContain("On the periodic check");

  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new DOMException("no", "NotAllowedError"));
  });
  await page.getByRole("button", { name: "Copy as OpenAI JSON" }).click();
  const dialog = page.getByRole("dialog", { name: "The prompt as OpenAI JSON" });
  await expect(dialog.getByRole("textbox")).toBeFocused();
  expect(await dialog.getByRole("textbox").inputValue()).toContain('"messages"');
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
});

test("epochs show their reason and the changes between two", async ({ page, open, browserErrors }) => {
  await open("#/prompt?conversation=workshop");
  await expect(page.getByRole("tab", { name: "Epochs" })).toHaveAttribute("aria-selected", "true");
  await expect(page.getByRole("combobox", { name: "Conversation" })).toHaveValue("At the bench");
  const rows = page.getByRole("row");
  await expect(rows.filter({ hasText: "in force" })).toContainText("trust fell from inner to familiar");
  const { epochs } = await get<{ epochs: { items: { tokens: number }[] } }>(
    page,
    "/api/v1/conversations/workshop/prompt",
  );
  const [inForce, first] = [epochs.items[0]?.tokens ?? 0, epochs.items.at(-1)?.tokens ?? 0];
  expect(first).toBeGreaterThan(inForce);
  await expect(rows.filter({ hasText: "first turn" })).toContainText(first.toLocaleString("en"));
  await expect(page.getByText(`Removed: user/USER.md. ${first - inForce} tokens fewer.`)).toBeVisible();
  await expect(page.locator(".diff").getByText("hand_over").first()).toBeVisible();
  await page.getByRole("radio", { name: "Epoch 2 as the one before" }).check();
  await expect(page.getByLabel("Text of epoch 2")).toContainText("These rules come first");
  await page.getByRole("combobox", { name: "Conversation" }).fill("plumber");
  await page.getByRole("option", { name: /A letter to the plumber/ }).click();
  await expect(page).toHaveURL(/conversation=plumber/);
  await expect(page.getByText("template v", { exact: false }).first()).toBeVisible();
  await expectAccessible(page);
  expect(browserErrors).toEqual([]);
});

test("60 epochs are paged, compared and restored from the URL", async ({ page, open, browserErrors }) => {
  await page.route("**/api/v1/conversations/workshop/prompt**", (route) => {
    const query = new URL(route.request().url()).searchParams;
    const epoch = (number: number) => ({
      number,
      opened_at: "2026-11-17T02:00:00Z",
      reason: "changed",
      because: null,
      trust: "full",
      tokens: 1000 + number,
      fingerprint: `blake3:${"0".repeat(64)}`,
      layer_versions: {},
      template_version: null,
    });
    const requestedEpoch = Number(query.get("epoch"));
    const blocks = [{ layers: ["soul"] }];
    const from = query.get("after") ? 10 : 60;
    const items = Array.from({ length: from === 60 ? 50 : 10 }, (_, index) => epoch(from - index));
    return route.fulfill({
      json: {
        in_force: 60,
        epochs: { items, next: from === 60 ? "older" : null },
        epoch: requestedEpoch
          ? { ...epoch(requestedEpoch), blocks, text: `the text of epoch ${requestedEpoch}` }
          : null,
      },
    });
  });
  await open("#/prompt?conversation=workshop");
  const rows = page.getByRole("region", { name: "Epochs" }).getByRole("row");
  await expect(rows).toHaveCount(51);
  await page.getByRole("button", { name: "Show more" }).click();
  await expect(rows).toHaveCount(61);
  await expect(rows.filter({ hasText: "in force" })).toHaveCount(1);
  await page.getByRole("radio", { name: "Epoch 3 as the one before" }).check();
  await expect(page.getByRole("heading", { name: "Epoch 3 and epoch 60" })).toBeVisible();
  await expect(page.getByText("The same layers in both. 57 tokens more.")).toBeVisible();
  await page.reload();
  await waitUntilLoaded(page);
  // An epoch that is not on a loaded page can be compared.
  await expect(page.getByRole("heading", { name: "Epoch 3 and epoch 60" })).toBeVisible();
  await expect(page.locator(".diff").getByText("the text of epoch 3").first()).toBeVisible();
  expect(browserErrors).toEqual([]);
});

test("unknown conversation and unknown user are reported", async ({ page, open }) => {
  await open("#/prompt?conversation=nowhere");
  await expect(page.locator("main")).toContainText("nowhere");
  await open("#/prompt?user=mallory");
  await expect(page.getByRole("list", { name: "Warnings" })).toContainText("unknown user mallory");
});

for (const [agent, title] of [
  ["keeper", "Constitution"],
  ["scribe", "Template"],
] as const) {
  test(`prompt view shows the layers of ${agent}`, async ({ page, open, browserErrors }) => {
    await open("#/prompt");
    await page.getByLabel("agent").selectOption(agent);
    await layer(page, new RegExp(title)).click();
    await expect(card(page, title).getByLabel(`Text of ${title}`)).not.toBeEmpty();
    await expect(summary(page)).toContainText(agent);
    expect(browserErrors).toEqual([]);
  });
}

test("prompt view works with the keyboard alone", async ({ page, open }) => {
  await open("#/prompt");
  await tabTo(page, page.getByRole("button", { name: "bob, group" }));
  await page.keyboard.press("Enter");
  await expect(summary(page).getByRole("status")).toContainText("3 layers withheld");
  await tabTo(page, page.getByRole("tab", { name: "Stack" }));
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await expect(layer(page, /Precedence/)).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(layer(page, /Soul/)).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(card(page, "Soul").getByRole("heading", { name: "Soul" })).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(layer(page, /Soul/)).toBeFocused();
  await tabTo(page, page.getByRole("tab", { name: "Stack" }), "Shift+Tab");
  await page.keyboard.press("ArrowRight");
  await expect(page.getByRole("tab", { name: "Text" })).toBeFocused();
  await expect(page.getByText("You would rather say")).toBeVisible();
});

for (const scheme of ["light", "dark"] as const) {
  test(`layer dialog and tabs are accessible on a phone, ${scheme}`, async ({ page, open }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width: 390, height: 844 });
    await open("#/prompt?user=bob&situation=group");
    await layer(page, /Soul/).click();
    const dialog = page.getByRole("dialog", { name: "Layer Soul" });
    await expect(dialog).toContainText("You are the assistant");
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await expect(dialog).toBeHidden();
    await expect(layer(page, /Soul/)).toBeFocused();
    for (const tab of ["Text", "Compare", "Epochs", "Stack"]) {
      await page.getByRole("tab", { name: tab }).click();
      await waitUntilLoaded(page);
      expect(await horizontalOverflow(page), tab).toBeLessThanOrEqual(0);
      await expectAccessible(page);
    }
  });
}

test.describe("separate server", () => {
  test.use({ storageState: { cookies: [], origins: [] } });
  let server: RunningServer;
  test.beforeAll(async () => {
    server = await startServer(["serve", "--demo"]);
  });
  test.afterAll(async () => server.stop());

  test("truncated layer shows the lines and tokens left out", async ({ page }) => {
    const file = join(server.workspace, "foreword.yaml");
    const before = readFileSync(file, "utf8");
    try {
      await page.goto(server.link);
      await expect(layer(page, /TOOLS\.md/)).toHaveAttribute("data-status", "included");
      writeFileSync(file, before.replace("budget: { tokens: 30000 }", "budget: { tokens: 1760 }"));
      await expect(async () => {
        await page.reload();
        await expect(layer(page, /TOOLS\.md/)).toHaveAttribute("data-status", "cut", { timeout: 1000 });
      }).toPass({ timeout: 20_000 });
      await layer(page, /TOOLS\.md/).click();
      await expect(card(page, "TOOLS.md")).toContainText(
        /It did not fit: \d+ lines from line \d+ on are left out \(\d+ tokens of 130\)/,
      );
      await summary(page).getByText("5 warnings").click();
      await expect(page.getByRole("list", { name: "Warnings" })).toContainText(
        "workspace/TOOLS.md was cut from 130 to",
      );
    } finally {
      writeFileSync(file, before);
    }
  });

  test("bob sees his own prompt without withheld layers or costs", async ({ page }) => {
    const output = execFileSync(
      process.env.FOREWORD_BIN ?? "../target/debug/foreword",
      ["-w", server.workspace, "--json", "token", "create", "--user", "bob"],
      { encoding: "utf8" },
    );
    await page.goto(server.url);
    await page.getByLabel("Token").fill((JSON.parse(output) as { token: string }).token);
    await page.getByRole("button", { name: "Open" }).click();
    await expect(summary(page).getByRole("status")).toHaveText(/bob, private.*[\d,]+ tokens/);
    await expect(layer(page, /USER\.md/)).toBeVisible();
    await expect(page.locator("main")).not.toContainText(/HEARTBEAT|withheld|Warm turn|\$/);
    await expect(page.getByLabel("user")).toHaveCount(0);
    await page.goto(`${server.url}/#/prompt?user=alice`);
    await expect(page.getByText("This URL shows the prompt for alice, which only the owner may see.")).toBeVisible();
    await expect(summary(page).getByRole("status")).toContainText("bob, private");
    await page.goto(`${server.url}/#/prompt?conversation=workshop`);
    await expect(page.getByRole("cell", { name: "trust fell", exact: true })).toBeVisible();
    await page.goto(`${server.url}/#/prompt?conversation=due-dates`);
    await expect(page.getByText("Conversation not found.")).toBeVisible();
    await page.goto(`${server.url}/#/prompt?tab=compare`);
    await expect(page.getByText("Choose a layer to see its text.")).toBeVisible();
    await expect(page.getByRole("alert")).toHaveCount(0);
  });
});
