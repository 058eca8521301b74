// The template view: editing, checking, previewing, comparing, saving and rolling back. Uses its own demo server,
// because it changes the template.
import type { Page } from "@playwright/test";
import { expectAccessible } from "./accessibility";
import { expect, horizontalOverflow, test, waitUntilLoaded } from "./fixtures";
import { type DemoServer, signIn, startDemoServer } from "./isolated_server";
import { acceptCompletion } from "./keyboard";

let server: DemoServer;
let original = "";
test.beforeAll(async ({ browser }) => {
  server = await startDemoServer(browser);
});
test.afterAll(() => server.stop());
test.beforeEach(async ({ context, page }) => {
  await server.signInOwner(context);
  await openTemplate(page, "");
  // Every test starts with the same template, regardless of what the previous test saved.
  original ||= await page.evaluate(
    async () => ((await (await fetch("/api/v1/template/history/3")).json()) as { template: string }).template,
  );
  await saveThroughApi(page, original);
  await page.evaluate(() => localStorage.clear());
  await page.reload();
  await waitUntilLoaded(page);
});

async function openTemplate(page: Page, query: string): Promise<void> {
  await page.goto(`${server.url}/#/template${query}`);
  await waitUntilLoaded(page);
}

/** Saves through the API, so that the editor does not know the new version. */
async function saveThroughApi(page: Page, template: string): Promise<void> {
  const status = await page.evaluate(async (template) => {
    const headers = { "content-type": "application/json" };
    return (
      await fetch("/system-prompt", {
        method: "PUT",
        headers,
        body: JSON.stringify({ template, message: "from elsewhere" }),
      })
    ).status;
  }, template);
  expect(status).toBe(200);
}

const editor = (page: Page) => page.getByRole("textbox", { name: "Template" });
const preview = (page: Page) => page.getByRole("region", { name: "Rendered text" });
const saveDialog = (page: Page) => page.getByRole("dialog", { name: "Save the template" });

async function replaceText(page: Page, text: string): Promise<void> {
  await editor(page).click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(text);
}

test("variable button inserts at the cursor and shows its description", async ({ page, browserErrors }) => {
  await replaceText(page, "It is  today.");
  for (let step = 0; step < 7; step++) await page.keyboard.press("ArrowLeft");
  await page.getByRole("button", { name: "system date" }).click();
  await expect(editor(page)).toHaveText("It is [system:date] today.");
  await expect(page.getByText("Current date (YYYY-MM-DD)")).toBeVisible();
  await page.keyboard.type("!");
  await expect(editor(page)).toHaveText("It is [system:date]! today.");
  expect(browserErrors).toEqual([]);
});

test("file button asks for a path and inserts it conditionally", async ({ page }) => {
  await replaceText(page, "");
  await page.getByRole("button", { name: "file path" }).click();
  const dialog = page.getByRole("dialog", { name: "Which file?" });
  await expect(dialog.getByLabel("Path")).toBeFocused();
  await dialog.getByLabel("Path").fill("a]b");
  await expect(dialog.getByRole("button", { name: "Insert" })).toBeDisabled();
  await dialog.getByLabel("Path").fill("prompts/house-style.md");
  await dialog.getByLabel("Only if the file exists").check();
  await dialog.getByRole("button", { name: "Insert" }).click();
  await expect(editor(page)).toContainText("[if file:prompts/house-style.md]");
  await expect(editor(page)).toContainText("[endif]");
  await expect(editor(page)).toBeFocused();
});

test("condition button wraps the selection and selects its variable", async ({ page }) => {
  await replaceText(page, "kept");
  await page.keyboard.press("Control+A");
  await page.getByRole("button", { name: "condition if" }).click();
  await expect(editor(page)).toHaveText("[if git:branch]kept[else][endif]");
  await page.keyboard.type("system:os");
  await expect(editor(page)).toHaveText("[if system:os]kept[else][endif]");
});

test("completion offers matching variables and conditions", async ({ page }) => {
  await replaceText(page, "Today is ");
  await page.keyboard.type("[sys");
  const options = page.getByRole("listbox").getByRole("option");
  await expect(options.filter({ hasText: "[system:date]" })).toBeVisible();
  await expect(options.filter({ hasText: "[system:date]" })).toContainText("Current date");
  await page.keyboard.type("tem:d");
  await acceptCompletion(page);
  await expect(editor(page)).toHaveText("Today is [system:date]");
  await page.keyboard.type(" [if !git:b");
  await expect(options.filter({ hasText: "git:branch" })).toBeVisible();
  await acceptCompletion(page);
  await expect(editor(page)).toHaveText("Today is [system:date] [if !git:branch]");
});

test("misspelt variable is underlined, explained and listed as a problem", async ({ page, browserErrors }) => {
  await replaceText(page, "One line.\nToday is [sytem:date].");
  const underlined = page.locator(".cm-lintRange-warning");
  await expect(underlined).toHaveText("sytem");
  await underlined.hover();
  await expect(page.getByText(/did you mean `system:date`/).first()).toBeVisible();
  const problems = page.getByRole("region", { name: "Problems" });
  await expect(problems).toContainText("1 warning");
  await problems.getByRole("button", { name: /line 2, column 11/ }).click();
  await expect(editor(page)).toBeFocused();
  await page.keyboard.type("system");
  await expect(problems).toContainText("No problems");
  await expect(underlined).toHaveCount(0);
  expect(browserErrors).toEqual([]);
});

test("F8 jumps to the next problem", async ({ page }) => {
  await replaceText(page, "Today is [sytem:date].\nThere is [sytem:time].");
  await expect(page.getByRole("region", { name: "Problems" })).toContainText(
    "2 warnings. F8 in the editor jumps to the next one.",
  );
  await page.keyboard.press("Control+Home");
  for (const replacement of ["first", "second"]) {
    await page.keyboard.press("F8");
    await page.keyboard.type(replacement);
  }
  await expect(editor(page)).toHaveText("Today is [first:date].There is [second:time].");
});

test("variables, conditions and literal brackets are highlighted differently", async ({ page }) => {
  await replaceText(page, "On [system:date] [if git:branch]we [[branch][endif] out.");
  await expect(page.locator(".tpl-variable")).toHaveText(["[system:date]"]);
  await expect(page.locator(".tpl-condition")).toHaveText(["[if git:branch]", "[endif]"]);
  await expect(page.locator(".tpl-literal")).toHaveText(["[["]);
  const background = await page
    .locator(".tpl-variable")
    .evaluate((element) => getComputedStyle(element).backgroundColor);
  expect(background).not.toBe("rgba(0, 0, 0, 0)");
});

test("preview follows typing and user, with tokens and prices", async ({ page, browserErrors }) => {
  await replaceText(page, "Words for [prompt:model]. [file:prompts/house-style.md]");
  await expect(preview(page)).toContainText("Words for offline/demo-small.");
  const previewRegion = page.getByRole("region", { name: "Preview" });
  await expect(previewRegion).toContainText(/Size\s*\d+ tok/);
  await expect(previewRegion).toContainText(/A cold turn\s*\$0\.\d+/);
  await expect(previewRegion).toContainText(/A warm turn\s*\$0\.\d+/);
  await editor(page).click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type(" And more.");
  await expect(preview(page)).toContainText("And more.");
  await previewRegion.getByLabel("user").selectOption("bob");
  await expect(previewRegion).toContainText("is withheld");
  await expect(page).toHaveURL(/user=bob/);
  expect(browserErrors).toEqual([]);
});

test("preview and cost of saving stay visible without scrolling", async ({ page }) => {
  await page.setViewportSize({ width: 1280, height: 860 });
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Template for scribe");
  await editor(page).click();
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText("Line by line.\n".repeat(60));
  await expect(preview(page)).toContainText("Line by line.");
  await page.keyboard.type("THE VERY LAST");
  await expect(preview(page)).toContainText("THE VERY LAST");
  const pane = await preview(page).boundingBox();
  expect((pane?.y ?? 0) + (pane?.height ?? 999)).toBeLessThanOrEqual(860);
  // The text itself is visible, not only the pane.
  await expect
    .poll(() => preview(page).evaluate((pane) => pane.scrollHeight - pane.clientHeight - pane.scrollTop))
    .toBeLessThan(60);
  await expect(editor(page)).toBeFocused();
  const costLine = page.getByText(/^Saving affects \d+ of \d+ conversations: [\d,]+ tok, \$[\d.]+$/);
  await expect(costLine).toBeInViewport();
});

test("unreachable server is reported once, in the save dialog", async ({ page }) => {
  await page.route(/system-prompt|api\/v1/, (route) => route.abort());
  await replaceText(page, "Nobody hears this.");
  await page.getByRole("button", { name: "Save …" }).click();
  await saveDialog(page).getByRole("button", { name: "Save", exact: true }).click();
  await expect(saveDialog(page).getByRole("alert")).toHaveCount(1);
  await expect(saveDialog(page)).toContainText("Unknown. The server is unreachable.");
  await expect(page.locator(".callout.bad:visible")).toHaveCount(1);
});

test("fast typing loses no characters", async ({ page }) => {
  await replaceText(page, "");
  const text = "The quick brown fox jumps over the lazy dog. ".repeat(4);
  await page.keyboard.type(text);
  await expect(editor(page)).toHaveText(text);
});

test("unsaved draft survives a reload and can be discarded", async ({ page }) => {
  await replaceText(page, "Not saved yet.");
  await page.reload();
  await waitUntilLoaded(page);
  await expect(editor(page)).toHaveText("Not saved yet.");
  await expect(page.getByText("Restored your unsaved draft")).toBeVisible();
  await expect(page.getByText("not saved", { exact: false }).first()).toBeVisible();
  await page.getByRole("button", { name: "Discard" }).click();
  await expect(editor(page)).toContainText("You write letters");
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(editor(page)).toHaveText("Not saved yet.");
  await expect(page.getByRole("button", { name: "Undo" })).toHaveCount(0);
  await page.reload();
  await waitUntilLoaded(page);
  await page.getByRole("button", { name: "Discard" }).click();
  await expect(editor(page)).toContainText("You write letters");
  await editor(page).click();
  await page.keyboard.type("x");
  await expect(page.getByRole("button", { name: "Undo" })).toHaveCount(0);
  await page.keyboard.press("Backspace");
  await page.reload();
  await waitUntilLoaded(page);
  await expect(editor(page)).toContainText("You write letters");
  await expect(page.getByRole("button", { name: "Save …" })).toBeDisabled();
});

test("saving shows its cost and stores the reason", async ({ page, browserErrors }) => {
  await replaceText(page, `Be kind first.\n${original}`);
  const cost = page.getByRole("region", { name: "Cost of saving" });
  await expect(cost).toContainText(/\d+ of \d+ conversations/);
  await expect(cost).toContainText(/Cached tokens\s*[\d,]+ tok/);
  await expect(cost).toContainText(/One-time cost\s*\$[\d.]+/);
  await expect(cost).toContainText("Applies to new conversations, and to others at their next compaction.");
  await cost.getByText("Conversations", { exact: true }).click();
  await expect(cost.getByRole("row").nth(1)).toContainText(/tok.*\$/);
  await page.keyboard.press("Control+s");
  await expect(saveDialog(page)).toContainText("Applies to new conversations, and to others at their next compaction.");
  await expect(saveDialog(page)).toContainText(/One-time cost\s*\$[\d.]+/);
  await expect(saveDialog(page).getByLabel(/Why\?/)).toBeFocused();
  await page.keyboard.type("kindness comes first");
  await page.keyboard.press("Control+s");
  await expect(page.getByText(/Version \d+ is stored\./)).toBeVisible();
  await expect(page.getByRole("button", { name: "Save …" })).toBeDisabled();
  await page.getByRole("tab", { name: "Versions" }).click();
  const newest = page.getByRole("list", { name: "Versions" }).getByRole("listitem").first();
  await expect(newest).toContainText(/in force.*alice.*kindness comes first/s);
  expect(browserErrors).toEqual([]);
});

test("edit conflict shows both texts, keeps the draft and saves it", async ({ page }) => {
  await replaceText(page, "My own words.");
  await saveThroughApi(page, "Their words.");
  await page.getByRole("button", { name: "Save …" }).click();
  await saveDialog(page).getByLabel(/Why\?/).fill("mine are better");
  await saveDialog(page).getByRole("button", { name: "Save", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Edit conflict" });
  await expect(dialog).toContainText("Their words.");
  await expect(dialog).toContainText("My own words.");
  await dialog.getByRole("button", { name: "Keep editing" }).click();
  await expect(editor(page)).toHaveText("My own words.");
  // The dialog keeps the reason.
  await page.getByRole("button", { name: "Save …" }).click();
  await expect(dialog.getByLabel(/Why\?/)).toHaveValue("mine are better");
  await dialog.getByRole("button", { name: "Keep editing" }).click();
  await page.reload();
  await waitUntilLoaded(page);
  await expect(editor(page)).toHaveText("My own words.");
  await expect(page.getByText(/stored version \d+ since you started editing/)).toBeVisible();
  await page.getByRole("button", { name: "Compare both" }).click();
  await dialog.getByLabel(/Why\?/).fill("mine are better still");
  await dialog.getByRole("button", { name: /Save mine over version/ }).click();
  await expect(page.getByText(/Version \d+ is stored\./)).toBeVisible();
  await expect(dialog).toHaveCount(0);
  expect(
    await page.evaluate(async () => ((await (await fetch("/system-prompt")).json()) as { template: string }).template),
  ).toBe("My own words.");
  await page.getByRole("tab", { name: "Versions" }).click();
  await expect(page.getByRole("list", { name: "Versions" }).getByRole("listitem").first()).toContainText(
    "mine are better still",
  );
});

test("text typed during a save is kept", async ({ page }) => {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/system-prompt", async (route) => {
    if (route.request().method() === "PUT") await released;
    await route.continue();
  });
  await replaceText(page, "Saved words.");
  await page.keyboard.press("Control+s");
  await saveDialog(page).getByRole("button", { name: "Save", exact: true }).click();
  await saveDialog(page).getByRole("button", { name: "Cancel" }).click();
  await editor(page).click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type(" Typed meanwhile.");
  release();
  await expect(page.getByText(/Version \d+ is stored\./)).toBeVisible();
  await expect(editor(page)).toHaveText("Saved words. Typed meanwhile.");
  await expect(page.getByText(/since you started editing/)).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Save …" })).toBeEnabled();
});

test("versions are compared by source and by rendered text", async ({ page, browserErrors }) => {
  await page.getByRole("tab", { name: "Versions" }).click();
  await page.getByRole("button", { name: "Compare version 1", exact: true }).click();
  const compare = page.getByRole("region", { name: "Compare" });
  await compare.getByLabel("After").selectOption("3");
  await expect(compare.getByRole("textbox", { name: "Version 1" })).toContainText("[file:prompts/house-style.md]");
  await expect(compare.getByRole("textbox", { name: "Version 3" })).toContainText("[prompt:model]");
  await compare.getByLabel("rendered text").check();
  await expect(compare.getByRole("textbox", { name: /Version 3: \d+ tokens/ })).toContainText(
    "you are offline/demo-small",
  );
  await expect(compare.getByRole("textbox", { name: /Version 1: \d+ tokens/ })).not.toContainText("[file:");
  await page.reload();
  await waitUntilLoaded(page);
  await expect(compare.getByLabel("Before")).toHaveValue("1");
  await expect(compare.getByLabel("rendered text")).toBeChecked();
  expect(browserErrors).toEqual([]);
});

test("editing from an old version can restore the draft", async ({ page }) => {
  await replaceText(page, "Mine, unsaved.");
  await page.getByRole("tab", { name: "Versions" }).click();
  await expect(
    page.getByRole("region", { name: "Compare" }).getByRole("textbox", { name: "Your unsaved text" }),
  ).toContainText("Mine, unsaved.");
  await page.getByRole("button", { name: "Edit from version 1", exact: true }).click();
  await expect(editor(page)).not.toContainText("[prompt:model]");
  await expect(editor(page)).toContainText("[system:date]");
  await page.getByRole("button", { name: "Restore my draft" }).click();
  await expect(editor(page)).toHaveText("Mine, unsaved.");
});

test("drafts from several versions survive reloads and are restored", async ({ page }) => {
  const editFromVersion = async (version: number) => {
    await page.getByRole("tab", { name: "Versions" }).click();
    await page.getByRole("button", { name: `Edit from version ${version}`, exact: true }).click();
    await expect(page.getByText(`You continued from version ${version}.`)).toBeVisible();
  };
  await replaceText(page, "Mine, unsaved.");
  await editFromVersion(1);
  await editFromVersion(2);
  await editor(page).click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type(" Two, changed.");
  await editFromVersion(1);
  await page.reload();
  await waitUntilLoaded(page);
  // A version stored meanwhile does not remove the drafts.
  await saveThroughApi(page, "Their words.");
  await page.reload();
  await waitUntilLoaded(page);
  await page.getByRole("button", { name: "Restore my draft" }).click();
  await expect(editor(page)).toContainText("Two, changed.");
  await page.getByRole("button", { name: "Restore my draft" }).click();
  await expect(editor(page)).toHaveText("Mine, unsaved.");
  await expect(page.getByRole("button", { name: "Restore my draft" })).toHaveCount(0);
});

test("old version is restored as a new version", async ({ page }) => {
  await page.getByRole("tab", { name: "Versions" }).click();
  await page.getByRole("button", { name: "Restore version 2", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Restore version 2" });
  await expect(dialog).toContainText(/conversations/);
  await dialog.getByRole("button", { name: /Restore as version/ }).click();
  await expect(page.getByText(/Version \d+ is stored\./)).toBeVisible();
  await expect(page.getByRole("list", { name: "Versions" }).getByRole("listitem").first()).toContainText(
    "Version 2 again",
  );
  await page.getByRole("tab", { name: "Write" }).click();
  await expect(editor(page)).not.toContainText("[prompt:model]");
});

test("hostile markup stays text in editor, preview and versions", async ({ page, browserErrors }) => {
  const hostile = `<img src=x onerror="window.hacked=1"><script>window.hacked=2</script>"'><b>bold</b> [sytem:<i>x</i>]`;
  await replaceText(page, hostile);
  await expect(preview(page)).toContainText("<b>bold</b>");
  await page.getByRole("button", { name: "Save …" }).click();
  await page.getByLabel(/Why\?/).fill("<b>why</b>");
  await saveDialog(page).getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("tab", { name: "Versions" }).click();
  await expect(page.getByText("<b>why</b>").first()).toBeVisible();
  expect(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked)).toBeUndefined();
  expect(await page.locator("main img, main script").count()).toBe(0);
  expect(browserErrors).toEqual([]);
});

test("template editor works with the keyboard alone", async ({ page }) => {
  await editor(page).focus();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("By key on [system:da");
  await expect(page.getByRole("option", { name: /\[system:date\]/ })).toBeVisible();
  await acceptCompletion(page);
  await page.keyboard.type(". ");
  await expect(editor(page)).toContainText("By key on [system:date]. You write");
  await page.keyboard.press("Tab");
  await expect(editor(page)).not.toBeFocused();
  await page.keyboard.press("Control+s");
  await page.keyboard.type("keys");
  await page.keyboard.press("Enter");
  await expect(page.getByText(/Version \d+ is stored\./)).toBeVisible();
});

for (const scheme of ["light", "dark"] as const) {
  test(`editor, dialogs and versions are accessible, ${scheme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await replaceText(page, "Today is [sytem:date]. [if git:branch]x[endif]");
    await expect(page.getByRole("region", { name: "Problems" })).toContainText("1 warning");
    await expectAccessible(page);
    await page.keyboard.press("Control+s");
    await expect(saveDialog(page)).toContainText("One-time cost");
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("tab", { name: "Versions" }).click();
    await expect(page.getByRole("region", { name: "Compare" }).getByRole("textbox").first()).toBeVisible();
    await expectAccessible(page);
  });
}

test("phone layout has no horizontal overflow", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await replaceText(page, `Today is [sytem:date]. ${"unbroken".repeat(30)}`);
  await expect(page.getByRole("region", { name: "Problems" })).toContainText("1 warning");
  await expect(preview(page)).toContainText("unbroken");
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
  await page.getByRole("tab", { name: "Versions" }).click();
  await expect(page.getByRole("region", { name: "Compare" }).getByRole("textbox").first()).toBeVisible();
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
});

test("bob sees a notice instead of the template", async ({ page, browserErrors }) => {
  await signIn(page, server, "bob", ["chat", "observe"]);
  browserErrors.length = 0;
  await openTemplate(page, "");
  await expect(page.getByText("Only the owner can see the template")).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
  await expect(page.getByRole("main").getByRole("link", { name: "Prompt" })).toBeVisible();
  expect(browserErrors).toEqual([]);
});

test("editor search finds text and returns the focus", async ({ page }) => {
  await editor(page).click();
  await page.keyboard.press("Control+f");
  await page.getByLabel("Find").fill("house-style");
  await page.keyboard.press("Enter");
  await expect(page.locator(".cm-searchMatch").first()).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(editor(page)).toBeFocused();
});
