import { describe, expect, it } from "vitest";
import { EMPTY, laidDown, takenUp } from "./set_aside";

const one = { version: 1, text: "one" };
const two = { version: 2, text: "two" };

describe("what is set aside when one goes on from a version", () => {
  it("is what was written, and nothing if nothing was", () => {
    expect(laidDown(EMPTY, "mine", one).texts).toEqual(["mine"]);
    expect(laidDown(EMPTY, undefined, one).texts).toEqual([]);
  });

  it("is not the text of a version that one only looked into", () => {
    expect(laidDown(laidDown(EMPTY, "mine", one), "one", two)).toEqual({ texts: ["mine"], from: two });
  });

  it("is had back in turn, if something was written twice", () => {
    const pile = laidDown(laidDown(EMPTY, "mine", one), "one, changed", two);
    expect(pile.texts).toEqual(["mine", "one, changed"]);
    expect(takenUp(pile).texts).toEqual(["mine"]);
    expect(takenUp(takenUp(pile))).toEqual(EMPTY);
  });
});
