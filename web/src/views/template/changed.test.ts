import { expect, it } from "vitest";
import { firstChange } from "./changed";

const table: [string, string, string, ReturnType<typeof firstChange>][] = [
  ["nothing", "a\nb", "a\nb", undefined],
  ["the first line", "a\nb", "x\nb", { line: 0, at: 0 }],
  ["words in the middle of a line", "one\ntwo three\n", "one\ntwo or three\n", { line: 1, at: 8 }],
  ["a new line between others", "a\nb\nc", "a\nb\nnew\nc", { line: 2, at: 4 }],
  ["words at the end", "a\nb", "a\nb more", { line: 1, at: 3 }],
  ["a line taken from the end", "a\nb\nc", "a\nb", { line: 1, at: 3 }],
  ["a text out of nothing", "", "a\nb", { line: 0, at: 0 }],
  ["nothing left", "a\nb", "", { line: 0, at: 0 }],
];
it.each(table)("%s", (_, before, after, expected) => expect(firstChange(before, after)).toEqual(expected));
