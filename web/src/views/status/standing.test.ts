// Nodes, as old and new servers tell of them.
import { describe, expect, it } from "vitest";
import { type Standing, isSilent, nodesOf, queueWords } from "./standing";

const now = "2026-11-17T02:00:00Z";

describe("nodes", () => {
  it("are the one that was asked if no others are told of", () => {
    const standing = { now, server: { node: "node-1", version: "0.1.0", listen: "127.0.0.1:7777", started_at: now } } as Standing;
    expect(nodesOf(standing)).toMatchObject([{ node: "node-1", here: true }]);
    expect(nodesOf({ now } as Standing)).toEqual([]);
  });

  it.each([
    [{ here: true, seen_at: "2026-11-16T00:00:00Z" }, false],
    [{ here: false, seen_at: "2026-11-17T01:59:30Z" }, false],
    [{ here: false, seen_at: "2026-11-17T01:50:00Z" }, true],
    [{ here: false, seen_at: null }, false],
  ])("that have said nothing for long are probably gone: %o", (node, expected) => expect(isSilent({ node: "n", ...node }, now)).toBe(expected));

  it("have queues with a meaning, and one that is new is no failure", () => {
    expect(queueWords("inbox")).toContain("letters");
    expect(queueWords("whatever")).toBe("");
  });
});
