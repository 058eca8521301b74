import { describe, expect, it } from "vitest";
import { speakerText, trustOf } from "./speaker";

const known = {
  users: [
    { name: "alice", trust: "full", channels: [] },
    { name: "bob", trust: "inner", channels: [] },
  ],
  situations: [
    { name: "dm", ceiling: "full" },
    { name: "group", ceiling: "familiar" },
  ],
};

describe("trust is the lower of the person's and the place's", () => {
  it.each([
    ["alice", "dm", "full"],
    ["alice", "group", "familiar"],
    ["bob", "dm", "inner"],
    ["bob", "group", "familiar"],
    ["mallory", "dm", undefined],
    ["bob", "elsewhere", undefined],
  ])("%s in %s: %s", (user, situation, trust) => expect(trustOf(known, user, situation)).toBe(trust));
});

it("is said in words", () => {
  expect(speakerText("bob", "group", "familiar", false)).toBe("You speak as bob, in the group: familiar trust.");
  expect(speakerText("alice", "dm", undefined, true)).toBe("You speak as yourself (alice), in private.");
});
