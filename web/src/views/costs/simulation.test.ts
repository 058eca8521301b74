import { describe, expect, it } from "vitest";
import type { SimulatedStrategy } from "../../api/schema";
import { turnLabels, verdictOf } from "./simulation";

const strategies = (...costs: (number | null)[]) =>
  costs.map(
    (cost, at) =>
      ({ strategy: ["freeze_then_append", "rebuild_each_turn", "inject_everything"][at], cost }) as SimulatedStrategy,
  );

describe("a comparison", () => {
  it.each([
    [
      strategies(3.78, 16.96, 16.83),
      "The next best method, “everything injected”, costs 4.5 times as much as freezing the prompt.",
    ],
    [
      strategies(101.1, 88.54, 88.49),
      "Freezing is not the cheapest here: “everything injected” costs 12 % less. The pauses may be longer than the cache lasts.",
    ],
    [strategies(1, 1.01, 1.02), "Freezing costs about the same as the next best method, “rebuilt each turn”."],
    [strategies(null, 1), null],
    [strategies(0, 0, 0), null],
  ])("is told as it is", (compared, expected) => expect(verdictOf(compared)).toBe(expected));

  it("has a turn for each point of its curve", () => {
    expect(turnLabels(4, 100)).toEqual(["1", "26", "51", "76"]);
    expect(turnLabels(1, 1)).toEqual(["1"]);
  });
});
