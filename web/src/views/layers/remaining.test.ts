import { describe, expect, it } from "vitest";
import { normalized, remainingFor } from "./remaining";

describe("the room that is left", () => {
  const limits = { layer: 10, remaining: 3, stored: 4 };
  const table: [string, Partial<ReturnType<typeof remainingFor>>][] = [
    ["abcd", { chars: 4, inLayer: 6, inAll: 3, over: 0 }],
    ["abcdefgh", { chars: 8, inLayer: 2, inAll: -1, over: 1 }],
    ["abcdefghijkl", { inLayer: -2, inAll: -5, over: 5 }],
    ["🍐🍐", { chars: 2 }],
    ["\n\n  a \n\n", { chars: 3 }],
    [" \n ", { chars: 0, blank: true }],
  ];
  it.each(table)("%j", (text, expected) => expect(remainingFor(text, limits)).toMatchObject(expected));

  it("is not told where nothing is limited", () => {
    expect(remainingFor("abc", { layer: null, remaining: null, stored: 0 })).toMatchObject({
      inLayer: undefined,
      inAll: undefined,
      over: 0,
    });
  });
});

it("a text is stored without what is empty around it", () =>
  expect(normalized("\n  Check first.\r\nThen act.\n\n")).toBe("  Check first.\nThen act."));
