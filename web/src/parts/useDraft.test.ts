import { describe, expect, it } from "vitest";
import { type State, withStored } from "./useDraft";

const initialState: State = { text: "one", base: 1, lastStored: "one", notPersisted: false };

describe("when another version is stored", () => {
  const table: [string, Partial<State>, Partial<State>][] = [
    ["whoever wrote nothing goes on from there", {}, { text: "two", base: 2 }],
    ["whoever wrote keeps their words, and what they began from", { text: "mine" }, { text: "mine", base: 1 }],
    ["whoever wrote the same has nothing left to save", { text: "two" }, { text: "two", base: 2 }],
    [
      "whoever stored it themselves goes on from there, with what they wrote since",
      { text: "two, and more", savedVersion: 2 },
      { text: "two, and more", base: 2 },
    ],
    [
      "whoever stored it, and wrote the old words again, has written something",
      { text: "one", savedVersion: 2 },
      { text: "one", base: 2 },
    ],
    [
      "a version that came after our own is news",
      { text: "mine, and more", savedVersion: 1 },
      { text: "mine, and more", base: 1 },
    ],
  ];
  it.each(table)("%s", (_, before, after) => {
    const next = withStored({ ...initialState, ...before }, { version: 2, text: "two" });
    expect(next).toMatchObject({ ...after, lastStored: "two" });
    expect(next.savedVersion).toBeUndefined();
  });
});
