import { describe, expect, it } from "vitest";
import { EMPTY, popDraft, pushDraft } from "./set_aside";

const one = { version: 1, text: "one" };
const two = { version: 2, text: "two" };

describe("what is set aside when one goes on from a version", () => {
  it("is what was written, and nothing if nothing was", () => {
    expect(pushDraft(EMPTY, "mine", one).texts).toEqual(["mine"]);
    expect(pushDraft(EMPTY, undefined, one).texts).toEqual([]);
  });

  it("is not the text of a version that one only looked into", () => {
    expect(pushDraft(pushDraft(EMPTY, "mine", one), "one", two)).toEqual({ texts: ["mine"], from: two });
  });

  it("is had back in turn, if something was written twice", () => {
    const stack = pushDraft(pushDraft(EMPTY, "mine", one), "one, changed", two);
    expect(stack.texts).toEqual(["mine", "one, changed"]);
    expect(popDraft(stack).texts).toEqual(["mine"]);
    expect(popDraft(popDraft(stack))).toEqual(EMPTY);
  });
});
