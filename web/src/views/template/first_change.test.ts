import { expect, it } from "vitest";
import { firstChange } from "./first_change";

const table: [string, string, string, ReturnType<typeof firstChange>][] = [
  ["nothing", "a\nb", "a\nb", undefined],
  ["the first line", "a\nb", "x\nb", 0],
  ["words in the middle of a line", "one\ntwo three\n", "one\ntwo or three\n", 8],
  ["a new line between others", "a\nb\nc", "a\nb\nnew\nc", 4],
  ["words at the end", "a\nb", "a\nb more", 3],
  ["a line taken from the end", "a\nb\nc", "a\nb", 3],
  ["a text out of nothing", "", "a\nb", 0],
  ["nothing left", "a\nb", "", 0],
];
it.each(table)("%s", (_, before, after, expected) => expect(firstChange(before, after)).toEqual(expected));
