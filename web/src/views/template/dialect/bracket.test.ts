import { describe, expect, it } from "vitest";
import { bracketTokens } from "./bracket";

const types = new Set(["system", "file", "git"]);
const shown = (text: string, compat = false) =>
  bracketTokens(text, { types, compat }).map((mark) => `${mark.kind} ${text.slice(mark.from, mark.to)}`);

describe("a bracket template's tags", () => {
  const table: [string, string[]][] = [
    ["Today is [system:date].", ["variable [system:date]"]],
    ["[ file: a b/c:d.md ]", ["variable [ file: a b/c:d.md ]"]],
    ["[file :x] [file:] [file: ]", []],
    ["[sytem:date] [NOTE: careful] [a link](x)", []],
    ["[if git:branch]a[else]b[endif]", ["condition [if git:branch]", "condition [else]", "condition [endif]"]],
    ["[if ! file:A]x[endif]", ["condition [if ! file:A]", "condition [endif]"]],
    ["[if file:A][if file:B]x[endif]", ["condition [if file:B]", "condition [endif]"]],
    ["[else] [endif] [If file:A]", []],
    ["[if file:A]a[else]b[else]c[endif]", ["condition [if file:A]", "condition [else]", "condition [endif]"]],
    ["[if sytem:x][system:os][else][endif]", ["variable [system:os]"]],
    ["[[system:date] and [[NOTE: x]", ["literal [[", "literal [["]],
    ["[file:a\nb]", []],
  ];
  it.each(table)("%j", (text, expected) => expect(shown(text)).toEqual(expected));

  it("in the compatible dialect may be of any type and span lines", () => {
    expect(shown("[sytem:x] [[file:a\nb]", true)).toEqual(["variable [sytem:x]", "variable [file:a\nb]"]);
  });
});
