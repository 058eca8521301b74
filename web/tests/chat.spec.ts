// Chat: streaming, tools, rate limits, approvals, stopping, several pages, and lost connections.
import AxeBuilder from "@axe-core/playwright";
import { answers, composer, currentConversationId, get, post, sendMessage, waitForAnswer } from "./chat_helpers";
import { expect, horizontalOverflow, test, waitUntilLoaded } from "./fixtures";

const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`);

test("answer streams and ends with tokens, cost and trace link", async ({ page, open, browserErrors }) => {
  await open("#/chat");
  await sendMessage(page, `!slow 60ms\n!say ${words(40).join(" ")}`);
  const answer = answers(page).last();
  await expect(answer).toContainText("word2 ");
  const early = (await answer.innerText()).match(/word\d+/g) ?? [];
  expect(early.length).toBeLessThan(40);
  await waitForAnswer(page);
  expect((await answer.innerText()).match(/word\d+/g)).toEqual(words(40));
  await expect(answer).toContainText(/[\d,]+ input tokens/);
  await expect(answer).toContainText(/\$0(\.\d+)?/);
  const conversation = await currentConversationId(page);
  const messages = await get<{ items: { turn: string }[] }>(page, `/api/v1/conversations/${conversation}/messages`);
  await expect(answer.getByRole("link", { name: "Trace" })).toHaveAttribute(
    "href",
    new RegExp(`#/trace/${messages.items[0]?.turn}`),
  );
  await expect(page.getByRole("link", { name: "Prompt", exact: true }).last()).toHaveAttribute(
    "href",
    `#/prompt?conversation=${conversation}`,
  );
  await page.reload();
  await waitUntilLoaded(page);
  await expect(answers(page)).toHaveCount(1);
  expect((await answers(page).innerText()).match(/word\d+/g)).toEqual(words(40));
  expect(browserErrors).toEqual([]);
});

test("reload during an answer shows the complete answer", async ({ page, open }) => {
  await open("#/chat");
  await sendMessage(page, `!tool foreword_status\n!then\n!slow 80ms\n!say ${words(40).join(" ")}`);
  await expect(answers(page).last()).toContainText("word5 ");
  await page.reload();
  await expect(answers(page).last()).toContainText("word7 ", { timeout: 10_000 });
  const answer = await waitForAnswer(page);
  await expect(answers(page)).toHaveCount(1);
  await expect(answer.locator("details.tool")).toHaveCount(1);
  expect((await answer.innerText()).match(/word\d+/g)).toEqual(words(40));
});

test("first answer of a new conversation loses no words", async ({ page, open }) => {
  for (const delay of [0, 1, 3, 8, 20]) {
    await open("#/chat");
    await sendMessage(page, `!slow ${delay}ms\n!say ${words(25).join(" ")}`);
    const answer = await waitForAnswer(page);
    expect((await answer.innerText()).match(/word\d+/g), `${delay} ms`).toEqual(words(25));
  }
});

test("tool call expands to its arguments and result", async ({ page, open }) => {
  await open("#/chat");
  await sendMessage(page, '!tool memory_search {"query":"quinces"}\n!tool read_file {"path":"nowhere.md"}');
  const answer = await waitForAnswer(page);
  const tools = answer.locator("details.tool");
  await expect(tools).toHaveCount(2);
  await expect(tools.first().locator("summary")).toContainText("memory_search");
  await expect(tools.first().locator("summary")).toContainText("done");
  await expect(tools.last().locator("summary")).toContainText("failed");
  await expect(tools.first().getByText('"query": "quinces"')).toBeHidden();
  await tools.first().locator("summary").click();
  await expect(tools.first().getByText('"query": "quinces"')).toBeVisible();
  await tools.first().locator("summary").press("Enter");
  await expect(tools.first().getByText('"query": "quinces"')).toBeHidden();
  await tools.last().locator("summary").click();
  await expect(tools.last()).toContainText("there is no file `nowhere.md`");
});

test("tool output is marked as from outside", async ({ page, open }) => {
  await open("#/chat");
  await sendMessage(page, "!tool foreword_status");
  const answer = await waitForAnswer(page);
  await answer.locator("details.tool summary").click();
  await expect(answer.locator("figure.outside").getByText("from outside")).toBeVisible();
  await expect(answer.locator("figure.outside")).toContainText("output of the tool `foreword_status`");
});

test("rate-limited turn shows a countdown, then the answer", async ({ page, open }) => {
  await open("#/chat");
  await sendMessage(page, "!fail 429 times=1 retry-after=4\n!say It is well.");
  await expect(page.getByText(/Rate limited\. Retrying in [34] s/).first()).toBeVisible();
  await expect(answers(page).last()).toContainText(/Retrying in [12] s/);
  const answer = await waitForAnswer(page);
  await expect(answer).toContainText("It is well.");
  await expect(answer).not.toContainText("Rate limited");
});

test("failed turn shows the reason and links to its trace", async ({ page, open }) => {
  await open("#/chat");
  await sendMessage(page, "!fail 401");
  await expect(page.getByRole("alert").first()).toContainText("Not authorised");
  await page.getByRole("link", { name: "Show trace" }).click();
  await expect(page.locator('main[data-view="trace"]')).toBeVisible();
});

for (const control of ["Stop button", "Escape"] as const) {
  test(`${control} stops an answer and keeps its text`, async ({ page, open }) => {
    await open("#/chat");
    await sendMessage(page, `!slow 100ms\n!say ${words(200).join(" ")}`);
    await expect(answers(page).last()).toContainText("word3 ");
    if (control === "Escape") await page.keyboard.press("Escape");
    else await page.getByRole("button", { name: "Stop" }).click();
    const answer = await waitForAnswer(page);
    await expect(answer).toContainText(/cancelled|Stopped/);
    await expect(answer).toContainText("word2 ");
    await expect(answer).not.toContainText("word199");
    await sendMessage(page, "!say Still here.");
    await expect(answers(page).last()).toContainText("Still here.");
  });
}

test("owner's chat as bob is recorded as bob, with his trust", async ({ page, open }) => {
  await open("#/chat");
  await expect(page.getByText("You speak as yourself (alice), in private: full trust.")).toBeVisible();
  await page.getByLabel("user").selectOption("bob");
  await page.getByLabel("situation").selectOption("group");
  await expect(page.getByText("You speak as bob, in the group: familiar trust.")).toBeVisible();
  await sendMessage(page, "Who am I?");
  await expect(await waitForAnswer(page)).toContainText("I take you for bob (trust familiar)");
  await expect(page.getByText("You speak as bob, in the group: familiar trust.")).toBeVisible();
  const conversation = await currentConversationId(page);
  expect(await get(page, `/api/v1/conversations/${conversation}`)).toMatchObject({
    user: "bob",
    situation: "group",
    title: "Who am I?",
  });
  await sendMessage(page, "!say again");
  await expect(answers(page).last()).toContainText("again");
  await waitForAnswer(page);
  const messages = await get<{ items: { author: string; trust: string; role: string }[] }>(
    page,
    `/api/v1/conversations/${conversation}/messages`,
  );
  expect([...new Set(messages.items.map((message) => message.trust))]).toEqual(["familiar"]);
  expect([
    ...new Set(messages.items.filter((message) => message.role === "user").map((message) => message.author)),
  ]).toEqual(["bob"]);
});

test("new conversation uses the selected agent", async ({ page, open }) => {
  await open("#/chat");
  await page.getByLabel("agent").selectOption("scribe");
  await expect(page.getByText("You talk to scribe.")).toBeVisible();
  await sendMessage(page, "!say written");
  await expect(await waitForAnswer(page)).toContainText("written");
  expect(await get(page, `/api/v1/conversations/${await currentConversationId(page)}`)).toMatchObject({
    agent: "scribe",
  });
});

test("two pages of one conversation show the same messages", async ({ page, open, context }) => {
  await open("#/chat");
  await sendMessage(page, "!say first");
  await waitForAnswer(page);
  const other = await context.newPage();
  await other.goto(page.url());
  await waitUntilLoaded(other);
  await expect(answers(other)).toHaveCount(1);
  await sendMessage(page, `!slow 50ms\n!say ${words(30).join(" ")}`);
  await expect(answers(other).last()).toContainText("word3 ");
  await expect(other.getByText("!slow 50ms")).toBeVisible();
  await waitForAnswer(page);
  await waitForAnswer(other);
  await sendMessage(other, "!say and back");
  await expect(answers(page).last()).toContainText("and back");
  await expect(page.locator(".log").getByText("!say and back")).toBeVisible();
  const visibleTexts = async (tab: typeof page) =>
    (await tab.locator(".log-inner").innerText())
      .replace(/\d+ (s|min) ago|just now/g, "")
      .match(/word\d+|first|and back/g);
  expect(await visibleTexts(other)).toEqual(await visibleTexts(page));
  await other.close();
});

test("message written offline is sent once after reconnecting", async ({ page, open, context }) => {
  await open("#/chat");
  await sendMessage(page, "!say before");
  await waitForAnswer(page);
  const conversation = await currentConversationId(page);
  await context.setOffline(true);
  await expect(page.getByText("Connection lost. Trying again …")).toBeVisible();
  await sendMessage(page, "!say meanwhile");
  await expect(page.getByText("waiting for the connection")).toBeVisible();
  await context.setOffline(false);
  await expect(page.getByText("Connection lost.")).toBeHidden({ timeout: 15_000 });
  await expect(answers(page).last()).toContainText("meanwhile", { timeout: 15_000 });
  await waitForAnswer(page);
  await expect(answers(page)).toHaveCount(2);
  const { items } = await get<{ items: { role: string }[] }>(page, `/api/v1/conversations/${conversation}/messages`);
  expect(items.filter((message) => message.role === "user")).toHaveLength(2);
});

test("broken connection resumes the answer without losing text", async ({ page, open, context }) => {
  await open("#/chat");
  await sendMessage(page, `!slow 80ms\n!say ${words(60).join(" ")}`);
  await expect(answers(page).last()).toContainText("word5 ");
  await context.setOffline(true);
  await expect(page.getByText("Connection lost. Trying again …")).toBeVisible();
  await page.waitForTimeout(600);
  await context.setOffline(false);
  const answer = await waitForAnswer(page);
  expect((await answer.innerText()).match(/word\d+/g)).toEqual(words(60));
});

test("unsent message survives a reload", async ({ page, open, context }) => {
  await open("#/chat");
  await composer(page).fill("half a thought");
  await page.reload();
  await expect(composer(page)).toHaveValue("half a thought");
  await context.setOffline(true);
  await sendMessage(page, "!say kept");
  await expect(page.getByText(/waiting for the connection|sending/)).toBeVisible();
  await context.setOffline(false);
  await page.reload();
  await expect(answers(page).last()).toContainText("kept", { timeout: 15_000 });
});

test("message sent during an answer is answered after it", async ({ page, open }) => {
  await open("#/chat");
  await sendMessage(page, `!slow 80ms\n!say ${words(15).join(" ")}`);
  await expect(answers(page).last()).toContainText("word2 ");
  await sendMessage(page, "!say second");
  await expect(answers(page)).toHaveCount(2, { timeout: 15_000 });
  await waitForAnswer(page);
  const texts = (await page.locator(".log-inner").innerText()).match(/word14|second/g);
  expect(texts).toEqual(["word14", "word14", "second", "second"]);
});

test("tool approval can be denied, given once, or for the turn", async ({ page, open }) => {
  await open("#/chat");
  await sendMessage(page, '!tool bash {"command":"echo hi"}\n!then\n!tool bash {"command":"echo harm"}');
  const question = page.getByLabel("The agent asks");
  await expect(question).toContainText("echo harm");
  await expect(question).toContainText("this turn has read output of the tool `bash`");
  await question.getByRole("button", { name: "No", exact: true }).click();
  await waitForAnswer(page);
  await expect(question).toBeHidden();
  // The conversation now contains untrusted text, so the first call needs approval too.
  const chain = ["one", "two", "three"]
    .map((word) => `!tool bash {"command":"echo harmless ${word}"}`)
    .join("\n!then\n");
  await sendMessage(page, chain);
  await expect(question).toContainText("harmless one");
  await question.getByRole("button", { name: "Allow once" }).click();
  await expect(question).toContainText("harmless two");
  await question.getByRole("button", { name: "Allow for the rest of this turn" }).click();
  await expect(answers(page)).toHaveCount(2);
  await expect((await waitForAnswer(page)).locator("details.tool")).toHaveCount(3);
  await expect(answers(page).last().locator("details.tool", { hasText: "done" })).toHaveCount(3);
});

test("long conversation opens at its end and keeps its scroll position", async ({ page, open }) => {
  test.setTimeout(120_000);
  await open("#/chat");
  const { id } = await post<{ id: string }>(page, "/api/v1/conversations", { title: "A long one" });
  for (let index = 0; index < 36; index++)
    await post(page, `/api/v1/conversations/${id}/messages`, { text: `!say answer${index}.` });
  await open(`#/chat/${id}`);
  await expect(page.getByText("answer35.", { exact: true })).toBeInViewport();
  await expect(page.getByText("answer0.", { exact: true })).toHaveCount(0);
  const log = page.locator(".log");
  await log.evaluate((element) => (element.scrollTop = 0));
  const button = page.getByRole("button", { name: "Show earlier messages" });
  const before = await log.evaluate((element) => element.scrollHeight - element.scrollTop);
  await button.click();
  await expect(page.getByText("answer0.", { exact: true })).toHaveCount(1);
  const after = await log.evaluate((element) => element.scrollHeight - element.scrollTop);
  expect(Math.abs(after - before)).toBeLessThan(80);
  await expect(button).toHaveCount(0);
  // The scroll position stays while an answer streams.
  await log.evaluate((element) => (element.scrollTop = 200));
  await sendMessage(page, "!say at the end");
  await waitForAnswer(page);
  expect(await log.evaluate((element) => element.scrollTop)).toBeLessThan(300);
  await page.getByRole("button", { name: "Jump to latest" }).click();
  await expect(page.locator("article.answer").last()).toBeInViewport();
});

test("compaction adds a summary and keeps the original messages", async ({ page, open }) => {
  await open("#/chat");
  await sendMessage(page, "Remember that the figs are finished.");
  await waitForAnswer(page);
  await sendMessage(page, "!say more words");
  await expect(answers(page)).toHaveCount(2);
  await waitForAnswer(page);
  await page.getByRole("button", { name: "Compact …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Compact", exact: true }).click();
  await expect(page.getByText(/A summary replaces \d+ messages/)).toBeVisible({ timeout: 20_000 });
  // The toast does not cover the send button.
  const toast = await page.locator(".toasts").boundingBox();
  const send = await page.getByRole("button", { name: "Send" }).boundingBox();
  if (!toast || !send) throw new Error("the toast or the send button is not visible");
  expect(toast.y + toast.height).toBeLessThanOrEqual(send.y);
  const summary = page.getByText(/Summary: the agent reads this/);
  await expect(summary).toBeVisible();
  await expect(page.getByText(/A summary replaces \d+ messages/)).toBeHidden({ timeout: 4_000 });
  await summary.click();
  await expect(page.locator("details.digest")).toContainText("figs are finished");
  await expect(page.locator(".log").getByText("Remember that the figs are finished.", { exact: true })).toBeVisible();
});

test("hostile markup stays text and long words cause no overflow", async ({ page, open, browserErrors }) => {
  await open("#/chat");
  const hostile = `<img src=x onerror="window.hacked=1"><script>window.hacked=2</script> [x](javascript:alert(1)) ${"W".repeat(600)}`;
  await sendMessage(page, `!say ${hostile}`);
  const answer = await waitForAnswer(page);
  await expect(answer).toContainText("<script>window.hacked=2</script>");
  expect(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked)).toBeUndefined();
  expect(await page.locator("main img[src='x'], main script").count()).toBe(0);
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
  const logOverflow = await page.locator(".log").evaluate((element) => element.scrollWidth - element.clientWidth);
  expect(logOverflow).toBeLessThanOrEqual(0);
  expect(browserErrors).toEqual([]);
});

test("chat works with the keyboard alone", async ({ page, open }) => {
  await open("#/chat");
  for (
    let presses = 0;
    presses < 60 && !(await composer(page).evaluate((field) => field === document.activeElement));
    presses++
  )
    await page.keyboard.press("Tab");
  await expect(composer(page)).toBeFocused();
  await expect(page.getByText("inserts a line break")).toBeVisible();
  await page.keyboard.type("!tool foreword_status");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("!then");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("!hang");
  await expect(composer(page)).toHaveValue("!tool foreword_status\n!then\n!hang");
  await page.keyboard.press("Enter");
  await expect(composer(page)).toHaveValue("");
  await expect(composer(page)).toBeFocused();
  const tool = page.locator("details.tool").first();
  await expect(tool).toContainText("done");
  for (
    let presses = 0;
    presses < 10 && !(await tool.locator("summary").evaluate((line) => line === document.activeElement));
    presses++
  )
    await page.keyboard.press("Shift+Tab");
  await expect(tool.locator("summary")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(tool).toHaveAttribute("open", "");
  await page.keyboard.press("Escape");
  await expect(await waitForAnswer(page)).toContainText(/cancelled|Stopped/);
  // The stop button disappears with the answer; the focus returns to the composer.
  await sendMessage(page, "!hang");
  await page.getByRole("button", { name: "Stop" }).press("Enter");
  await expect(composer(page)).toBeFocused();
  await waitForAnswer(page);
  await expect(composer(page)).toBeFocused();
});

test("screen reader announces the complete answer, not each word", async ({ page, open }) => {
  await open("#/chat");
  await sendMessage(page, `!slow 200ms\n!say ${words(20).join(" ")}`);
  await expect(answers(page).last()).toContainText("word5 ");
  const announcer = page.locator("[data-announcer]");
  await expect(announcer).not.toContainText("word");
  await waitForAnswer(page);
  await expect(announcer).toContainText("word19");
});

for (const scheme of ["light", "dark"] as const) {
  test(`chat with tools and errors is accessible, ${scheme}`, async ({ page, open }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await open("#/chat");
    await sendMessage(page, '!tool read_file {"path":"nowhere.md"}\n!tool foreword_status');
    await waitForAnswer(page);
    await sendMessage(page, "!fail 401");
    await expect(answers(page)).toHaveCount(2);
    await waitForAnswer(page);
    await page.locator("details.tool summary").first().click();
    const results = await new AxeBuilder({ page }).analyze();
    expect(
      results.violations
        .filter((violation) => violation.impact === "serious" || violation.impact === "critical")
        .map((violation) => `${violation.id}: ${violation.nodes.map((node) => node.target.join(" ")).join(", ")}`),
    ).toEqual([]);
  });
}

test("phone layout keeps the composer at the bottom", async ({ page, open }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open("#/chat");
  await sendMessage(page, "!long 400 words");
  await waitForAnswer(page);
  const field = await composer(page).boundingBox();
  expect((field?.y ?? 0) + (field?.height ?? 0)).toBeGreaterThan(740);
  expect((field?.y ?? 0) + (field?.height ?? 0)).toBeLessThanOrEqual(844);
  expect(await page.evaluate(() => document.documentElement.scrollHeight - innerHeight)).toBeLessThanOrEqual(0);
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
  await expect(page.getByText("Recent", { exact: true })).toBeHidden();
});
