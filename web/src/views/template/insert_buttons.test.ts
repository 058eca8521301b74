import { expect, it } from "vitest";
import { buttonsFor, fileTag, pathProblem } from "./insert_buttons";

const VARIABLES = [
  { type: "system", name: "time", description: "Time", dynamic: false },
  { type: "system", name: "date", description: "Date", dynamic: false },
  { type: "file", name: "<path>", description: "A file", dynamic: true },
];

it("variables are grouped by type, in the server's order, and a condition comes last", () => {
  const groups = buttonsFor("bracket", VARIABLES);
  expect(groups.map((group) => [group.name, group.buttons.map((button) => button.words)])).toEqual([
    ["system", ["[system:time]", "[system:date]"]],
    ["file", ["[file:PATH]"]],
    ["condition", ["[if ${git:branch}]SELECTED${}[else]${}[endif]"]],
  ]);
});

it("a Jinja template has values and blocks of its own", () => {
  expect(buttonsFor("jinja", VARIABLES).flatMap((group) => group.buttons.map((button) => button.label))).toContain(
    "agent_name",
  );
});

it("a file can be asked for only where it is there", () => {
  const [, file] = buttonsFor("bracket", VARIABLES);
  const include = buttonsFor("jinja", [])[1]?.buttons.find((button) => button.asksPath);
  expect(fileTag(file!.buttons[0]!, " a b.md ", false)).toBe("[file:a b.md]");
  expect(fileTag(file!.buttons[0]!, "$&.md", true)).toBe("[if file:$&.md]\n[file:$&.md]\n[endif]");
  expect(fileTag(include!, "x.md", true)).toBe('{% include "x.md" ignore missing %}');
});

it.each([
  ["AGENTS.md", true],
  ["a b/c.md", true],
  ["  ", false],
  ["a]b", false],
  ['a"b', false],
])("whether %j can be a path: %s", (path, fine) => {
  expect(pathProblem(path) === undefined).toBe(fine);
});
