import { describe, expect, it } from "vitest";
import { nodesOf, queueText, type StatusReport } from "./server_status";

const now = "2026-11-17T02:00:00Z";

describe("nodes", () => {
  it("are the one that was asked if no others are told of", () => {
    const status = {
      now,
      server: { node: "node-1", version: "0.1.0", listen: "127.0.0.1:7777", started_at: now },
    } as StatusReport;
    expect(nodesOf(status)).toMatchObject([{ node: "node-1", here: true }]);
    expect(nodesOf({ now } as StatusReport)).toEqual([]);
  });

  it("are as many as are told of, gone or not", () => {
    const nodes = [
      { node: "node-1", here: true, gone: false },
      { node: "node-2", here: false, gone: true },
    ];
    expect(nodesOf({ now, nodes } as unknown as StatusReport)).toEqual(nodes);
  });

  it("have queues with a meaning, and one that is new is no failure", () => {
    expect(queueText("inbox")).toContain("inbox messages");
    expect(queueText("whatever")).toBe("");
  });
});
