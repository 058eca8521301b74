import { describe, expect, it } from "vitest";
import { type State, followed } from "./useDraft";

const begun: State = { text: "one", base: 1, seen: "one", homeless: false };

describe("when another version is stored", () => {
  const table: [string, Partial<State>, Partial<State>][] = [
    ["whoever wrote nothing goes on from there", {}, { text: "two", base: 2 }],
    ["whoever wrote keeps their words, and what they began from", { text: "mine" }, { text: "mine", base: 1 }],
    ["whoever wrote the same has nothing left to save", { text: "two" }, { text: "two", base: 2 }],
    ["whoever stored it themselves goes on from there, with what they wrote since", { text: "two, and more", ours: 2 }, { text: "two, and more", base: 2 }],
    ["whoever stored it, and wrote the old words again, has written something", { text: "one", ours: 2 }, { text: "one", base: 2 }],
    ["a version that came after our own is news", { text: "mine, and more", ours: 1 }, { text: "mine, and more", base: 1 }],
  ];
  it.each(table)("%s", (_, before, after) => {
    const next = followed({ ...begun, ...before }, { version: 2, text: "two" });
    expect(next).toMatchObject({ ...after, seen: "two" });
    expect(next.ours).toBeUndefined();
  });
});
