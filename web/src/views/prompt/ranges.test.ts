import { describe, expect, it } from "vitest";
import { excerptOf, groupsOf, piecesOf, placesOf, textOf } from "./ranges";

const bytes = (text: string) => new TextEncoder().encode(text).length;

describe("a byte offset", () => {
  const cases: [string, string, number[], number[]][] = [
    ["in plain text is the place itself", "abc", [0, 1, 3], [0, 1, 3]],
    ["behind a letter of two bytes", "äb", [0, 2, 3], [0, 1, 2]],
    ["behind a letter of three bytes", "€b", [3, 4], [1, 2]],
    ["behind a letter of four bytes, which is two units", "🙂b", [4, 5], [2, 3]],
    ["inside a character means its beginning", "a🙂b", [2, 3, 4], [1, 1, 1]],
    ["beyond the end is the end", "äb", [99], [2]],
    ["may come in any order, and twice", "äöü", [6, 0, 2, 6], [3, 0, 1, 3]],
    ["in an empty text", "", [0, 5], [0, 0]],
  ];
  it.each(cases)("%s", (_, text, offsets, expected) => expect(placesOf(text, offsets)).toEqual(expected));

  it("is the same as what an encoder says, for every character of a mixed text", () => {
    const text = "Grüße — 你好 🙂👩‍👧 e\u0301 ends";
    const places = [...text].reduce<number[]>((all, letter) => [...all, (all.at(-1) ?? 0) + letter.length], [0]);
    expect(
      placesOf(
        text,
        places.map((place) => bytes(text.slice(0, place))),
      ),
    ).toEqual(places);
  });
});

describe("a text with layers", () => {
  const text = "Hällo\n\n🙂 world\ntail";
  const first = { id: "first", range: [0, bytes("Hällo")] };
  const second = { id: "second", range: [bytes("Hällo"), bytes("Hällo\n\n🙂 world")] };
  const none = { id: "none", range: [5, 5] };

  it("is cut where they begin and end, and nothing is lost", () => {
    const splitUntrusted = piecesOf(text, [second, none, first]);
    expect(splitUntrusted.map((piece) => [piece.layer?.id, piece.text])).toEqual([
      ["first", "Hällo"],
      ["second", "\n\n🙂 world"],
      [undefined, "\ntail"],
    ]);
    expect(splitUntrusted.map((piece) => piece.text).join("")).toBe(text);
  });

  it("gives the words of one", () => {
    expect(textOf(text, second)).toBe("\n\n🙂 world");
    expect(textOf(text, none)).toBe("");
  });

  it("is shown in lines that belong to the layer that fills them", () => {
    const groups = groupsOf(text, [first, second]);
    expect(groups.map((group) => [group.layer?.id, group.first, group.lines.length])).toEqual([
      ["first", 1, 1],
      ["second", 2, 2],
      [undefined, 4, 1],
    ]);
    const lines = groups.flatMap((group) => group.lines.map((line) => line.parts.map((part) => part.text).join("")));
    expect(lines.join("\n")).toBe(text);
  });
});

describe("a glimpse of a layer", () => {
  const cases: [string, string, string][] = [
    [
      "leaves out rules, headings and blank lines at its beginning",
      "\n\n---\n\n## Layer 5\n\nYou act.\n\n- One",
      "You act.\n- One",
    ],
    ["leaves out an opening tag", "\n\n<turn-context>\n## Now\n\n- Time: ten", "- Time: ten"],
    ["keeps headings further down", "Words.\n## More\nWords.", "Words.\n## More\nWords."],
    ["is the last line if there are headings only", "# One\n# Two", "# Two"],
    ["may be empty", "\n---\n", ""],
  ];
  it.each(cases)("%s", (_, text, expected) => expect(excerptOf(text, { range: [0, bytes(text)] })).toBe(expected));
});
