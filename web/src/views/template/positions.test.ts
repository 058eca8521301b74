import { Text } from "@codemirror/state";
import { expect, it } from "vitest";
import type { ProblemLocation } from "../../api/schema";
import { problemsIn } from "./positions";

const TEXT = "one\n🍐 Hi [sytem:date] x\n";
const underlined = (problem: Omit<ProblemLocation, "message">) => {
  const doc = Text.of(TEXT.split("\n"));
  const [found] = problemsIn(doc, { dialect: "bracket", problems: [], warnings: [{ message: "m", ...problem }] });
  return found && doc.sliceString(found.from, found.to);
};

const table: [string, Omit<ProblemLocation, "message">, string][] = [
  ["columns are characters, not code units", { line: 2, column: 7, end_line: 2, end_column: 12 }, "sytem"],
  ["without an end, a word", { line: 2, column: 7 }, "sytem:date"],
  ["a sign alone", { line: 2, column: 6 }, "["],
  ["over a line's end", { line: 1, column: 2, end_line: 2, end_column: 2 }, "ne\n🍐"],
  ["behind a line, its last character", { line: 1, column: 9 }, "e"],
  ["a line that is not there", { line: 99, column: 4 }, ""],
  ["no place at all is the beginning", {}, "one"],
];
it.each(table)("%s", (_, problem, expected) => expect(underlined(problem)).toBe(expected));

it("problems and warnings come in the order of the text, with what to do", () => {
  const doc = Text.of(["abc"]);
  const found = problemsIn(doc, {
    dialect: "jinja",
    problems: [{ line: 1, column: 3, message: "later" }],
    warnings: [{ line: 1, column: 1, message: "first", help: "do it" }],
  });
  expect(found.map((one) => [one.severity, one.message])).toEqual([
    ["warning", "first\ndo it"],
    ["error", "later"],
  ]);
});
