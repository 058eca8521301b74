import { describe, expect, it } from "vitest";
import type { Cache } from "../../api/schema";
import { causeText, costText, type Miss, missesOf, positionText } from "./misses";

const miss = (more: Partial<Miss>) => ({ at: "2026-11-17T02:00:00Z", conversation: "c-1", ...more }) as Miss;

describe("a miss", () => {
  it.each([
    [
      { layer: "6", file: "layer 6 v4", section: "system:2", bytes: [64, 403] as [number, number] },
      "layer 6 (layer 6 v4), from byte 64 on",
    ],
    [
      { section: "system:0", bytes: [1064, 2000] as [number, number] },
      "block 1 of the system prompt, from byte 1,064 on",
    ],
    [{ section: "message:0", bytes: [0, 886] as [number, number] }, "message 1 of the history, from byte 0 on"],
    [{ section: "model" }, "the model"],
    [{ section: "tool:bash" }, "tool bash"],
    [{}, null],
  ])("says where: %o", (more, expected) => expect(positionText(miss(more))).toBe(expected));

  it.each([
    [{ cost_usd: 0.003, cost_if_hit_usd: 0.00024 }, "$0.0030 instead of $0.00024"],
    [{ cost_usd: 0, cost_if_hit_usd: 0 }, "$0 instead of $0"],
    [{ cost_usd: null }, "cost unknown"],
  ])("says what it cost: %o", (more, expected) => expect(costText(miss(more))).toBe(expected));

  it("has words for its cause, and for one that is new", () => {
    expect(causeText("layer_edited")).toBe("A layer was edited");
    expect(causeText(undefined)).toBe("Unknown cause");
    expect(causeText("moon_phase")).toBe("moon phase");
  });

  it("of any conversation is listed, the latest first", () => {
    const conversations = [
      { conversation: "a", misses: [{ at: "2026-01-01" }, { at: "2026-01-03" }] },
      { conversation: "b", misses: [{ at: "2026-01-02" }] },
    ] as Cache["conversations"];
    expect(missesOf({ conversations }).map((one) => one.conversation)).toEqual(["a", "b", "a"]);
  });
});
