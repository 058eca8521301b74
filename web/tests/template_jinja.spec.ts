// A Jinja template in a workspace without stored versions.
import type { Page } from "@playwright/test";
import { expect, test, waitUntilLoaded } from "./fixtures";
import { signIn, startWorkspaceServer } from "./isolated_server";
import { acceptCompletion } from "./keyboard";
import type { RunningServer } from "./server";

let server: RunningServer;
test.beforeAll(async () => {
  server = await startWorkspaceServer("template", (config) => config.replace("dialect: bracket ", "dialect: jinja "));
});
test.afterAll(() => server.stop());

const editor = (page: Page) => page.getByRole("textbox", { name: "Template" });

test("Jinja template completes, highlights, reports errors and stores version 1", async ({ page }) => {
  await signIn(page, server, "alice", ["chat", "observe", "admin"]);
  await page.goto(`${server.url}/#/template`);
  await waitUntilLoaded(page);
  await expect(page.getByText(/no version is stored yet/)).toBeVisible();
  await expect(page.getByText("This is a Jinja template.")).toBeVisible();
  await editor(page).click();
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.type("You are {{ agent_n");
  await expect(page.getByRole("option", { name: /agent_name/ })).toBeVisible();
  await acceptCompletion(page);
  await page.keyboard.type("|upp");
  await expect(page.getByRole("option", { name: /upper/ })).toBeVisible();
  await acceptCompletion(page);
  await page.keyboard.type(" }}.");
  await expect(editor(page)).toHaveText("You are {{ agent_name|upper }}.");
  await expect(page.getByRole("region", { name: "Rendered text" })).toHaveText("You are ASSISTANT.");
  await expect(page.locator(".tpl-bracket")).toHaveText(["{{", "}}"]);
  await expect(page.locator(".tpl-name")).toHaveText(["agent_name", "upper"]);
  await page.keyboard.press("Enter");
  await page.keyboard.type("{% if x %}never closed");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("region", { name: "Problems" })).toContainText("1 problem");
  await expect(page.locator(".cm-lintRange-error")).toBeVisible();
  await expect(page.locator(".tpl-word").last()).toHaveText("if");
  await expect(page.getByText("This text cannot be rendered")).toBeVisible();
  await page.keyboard.press("Control+s");
  const save = page.getByRole("dialog", { name: "Save the template" });
  await save.getByRole("button", { name: "Save", exact: true }).click();
  await expect(save.getByRole("alert")).toContainText("line 2");
  await page.keyboard.press("Escape");
  await editor(page).click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText("You are {{ agent_name }}.");
  await expect(page.getByRole("region", { name: "Problems" })).toContainText("No problems");
  await page.keyboard.insertText(" {{ nobody }}");
  await expect(page.getByRole("region", { name: "Preview" })).toContainText("unknown variable `nobody`");
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText("You are {{ agent_name }}.");
  await page.getByRole("button", { name: "block comment" }).click();
  await page.keyboard.type("for alice");
  await expect(editor(page)).toContainText("{# for alice #}");
  await expect(page.locator(".tpl-comment")).toHaveText("{# for alice #}");
  await page.keyboard.press("Control+s");
  await save.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Version 1 is stored.")).toBeVisible();
});
