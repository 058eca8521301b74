import { expect, it } from "vitest";
import { parseRoute } from "../../shell/router";
import { parseUrl, urlOf } from "./url_state";

const agents = [{ name: "scribe", blueprint: "template", model: "m", dialect: "bracket", uses_template: true }];
const read = (words: string, version: number, dirty: boolean) =>
  parseUrl(new URLSearchParams(words), agents, version, dirty);

const table: [string, number, boolean, unknown, unknown][] = [
  ["", 3, false, 2, 3],
  ["", 3, true, 3, "draft"],
  ["", 1, false, 1, "draft"],
  ["", 0, false, 0, "draft"],
  ["", 0, true, 0, "draft"],
  ["before=1&after=draft", 3, false, 1, "draft"],
  ["before=-1&after=x", 3, false, 2, 3],
];
it.each(table)("%j at version %d, changed: %s, compares %s with %s", (words, version, dirty, before, after) => {
  expect(read(words, version, dirty).comparison).toMatchObject({ before, after });
});

it("an agent that uses no template is not previewed", () => {
  expect(read("agent=keeper&user=bob", 3, false).occasion).toEqual({ agent: "scribe", user: "bob" });
});

it("an address leads back to where it was made", () => {
  const urlState = {
    show: "versions" as const,
    comparison: { before: 1, after: "draft" as const, of: "rendered" as const },
    occasion: { agent: "scribe", user: "bob" },
  };
  expect(parseUrl(parseRoute(urlOf(urlState)).query, agents, 9, false)).toEqual(urlState);
});
