// Fixtures in the server's format: a turn that failed after three attempts, and one that succeeded.
import { describe, expect, it } from "vitest";
import type { Event, Span, Trace } from "../../api/schema";
import { breakdownOf } from "./breakdown";
import { fieldsOf, labelOf } from "./fields";
import { barOf, scaleOf, ticksOf } from "./scale";
import { rowsOf } from "./spans";
import { retriesOf, summaryOf } from "./summary";

let next = 1;
function event(event_type: string, more: Partial<Event> = {}): Event {
  return {
    id: next++,
    timestamp: "2026-11-17T02:12:10.000000Z",
    level: "info",
    category: "agent",
    event_type,
    turn_id: "t-1",
    ...more,
  } as Event;
}
function span(name: string, offset_ms: number, duration_ms: number, events: Event[], children: Span[] = []): Span {
  return { name, offset_ms, duration_ms, events, children };
}
const overloaded = (retryAttempt: number, delayMs: number | null) =>
  event("api_error", {
    level: delayMs === null ? "error" : "warn",
    error: "offline: overloaded (HTTP 529)",
    metadata: { provider: "offline", retryAttempt, delayMs, statusCode: 529 },
  });

function traced(state: string, children: Span[], more: Partial<Trace> = {}): Trace {
  const spans = [
    span(
      "message_received",
      0,
      1000,
      [event("message_received", { turn_id: undefined })],
      [
        span("turn", 8, 990, [event("turn_started", { metadata: { model: "offline/echo" } })], children),
        span("trust_resolved", 41, 0, [event("trust_resolved", { metadata: { effective: "full", ceiling: "full" } })]),
        span("message_sent", 999, 1, [event("message_sent")]),
      ],
    ),
  ];
  const usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, cache_write_1h: 0 };
  return {
    turn: "t-1",
    session_id: "c-1",
    state,
    trust: "full",
    node: "n",
    attempts: 1,
    started_at: "2026-11-17T02:12:10Z",
    calls: 1,
    failed_calls: 0,
    usage,
    duration_ms: 1000,
    spans,
    ...more,
  } as Trace;
}

const failed = traced(
  "failed",
  [
    span("api_error", 50, 0, [overloaded(0, 100)]),
    span("wait", 50, 100, []),
    span("api_error", 160, 0, [overloaded(1, 800)]),
    span("wait", 160, 800, []),
    span("api_error", 970, 0, [overloaded(2, null)]),
  ],
  { error: "provider unavailable: offline: overloaded (HTTP 529)", calls: 0, failed_calls: 3, cost_usd: null },
);

describe("the rows of a waterfall", () => {
  it("show what belongs to a turn in it, in the order it happened, and what came later behind it", () => {
    expect(rowsOf(failed).map((row) => `${row.depth} ${row.span.name}`)).toEqual([
      "0 message_received",
      "1 turn",
      "2 trust_resolved",
      "2 api_error",
      "2 wait",
      "2 api_error",
      "2 wait",
      "2 api_error",
      "1 message_sent",
    ]);
  });

  it("say what went wrong, and whether it was the end", () => {
    const wrong = rowsOf(failed).filter((row) => row.error);
    expect(wrong.map((row) => row.fatal)).toEqual([false, false, true]);
  });

  it("have names that stay when a running turn grows", () => {
    const one = rowsOf(traced("running", [span("api_call", 50, 10, [event("api_call")])]));
    const two = rowsOf(
      traced("running", [
        span("api_call", 50, 10, [event("api_call")]),
        span("tool_call", 80, 10, [event("tool_call")]),
      ]),
    );
    expect(two.find((row) => row.span.name === "api_call")?.id).toBe(
      one.find((row) => row.span.name === "api_call")?.id,
    );
  });
});

describe("the axis", () => {
  it.each([
    [1, [0]],
    [34, [0, 10, 20, 30]],
    [407, [0, 100, 200, 300]],
    [1000, [0, 200, 400, 600, 800]],
    [65_000, [0, 20_000, 40_000, 60_000]],
  ])("of %s ms has round marks", (whole, expected) => {
    expect(ticksOf(whole)).toEqual(expected);
  });

  it("never lets a bar stand outside", () => {
    const rows = rowsOf(failed);
    const scale = scaleOf(rows, 500);
    expect(scale.whole).toBe(1000);
    for (const bar of rows.map((row) => barOf(row, scale))) {
      expect(bar.left).toBeGreaterThanOrEqual(0);
      expect(bar.left + bar.width).toBeLessThanOrEqual(1);
    }
  });

  it("of a turn that took no time is no division by nothing", () => expect(scaleOf([], 0).whole).toBe(1));
});

describe("where the time went", () => {
  it("adds up to the whole, and nothing counts twice", () => {
    const portions = breakdownOf(rowsOf(failed), 1000);
    expect(portions.find((portion) => portion.kind === "wait")?.ms).toBe(900);
    expect(portions.reduce((sum, portion) => sum + portion.ms, 0)).toBe(1000);
  });

  it("a tool that searches memory is counted once", () => {
    const rows = rowsOf(
      traced("done", [
        span("tool_call", 100, 50, [event("tool_call")], [span("memory_search", 110, 30, [event("memory_search")])]),
      ]),
    );
    expect(breakdownOf(rows, 1000).find((portion) => portion.kind === "tool")?.ms).toBe(50);
  });
});

describe("a turn in words", () => {
  const priced = span("api_call", 50, 10, [event("api_call", { cost_usd: 0.02, tokens_in: 10, tokens_out: 1 })]);
  const said = (trace: Trace) => summaryOf(trace, rowsOf(trace));
  it.each([
    [
      "a failure names the reason and the wait",
      failed,
      "Failed after 2 retries: overloaded (HTTP 529). 1.00 s, of which 900 ms waiting. No answered call, so nothing was charged.",
    ],
    ["an answer is short", traced("done", [priced], { cost_usd: 0.02 }), "Answered. 1.00 s. $0.020."],
    [
      "one retry is one",
      traced("done", [span("api_error", 50, 0, [overloaded(0, 100)]), span("wait", 50, 100, []), priced], {
        cost_usd: 0.02,
      }),
      "Answered after 1 retry (overloaded (HTTP 529)). 1.00 s, of which 100 ms waiting. $0.020.",
    ],
    [
      "what was stopped says so, and what is on record of its cost",
      traced("cancelled", [priced], { cost_usd: null }),
      "Cancelled. 1.00 s. $0.020 is recorded; there may be unknown costs.",
    ],
    [
      "a failure without a call gives the turn's own reason",
      traced("failed", [], { error: "the budget is used up", calls: 0 }),
      "Failed: the budget is used up. 1.00 s. No answered call, so nothing was charged.",
    ],
    ["what runs has no cost yet", traced("running", [], { duration_ms: 300 }), "Running. 300 ms recorded so far."],
  ])("%s", (_, trace, expected) => expect(said(trace)).toBe(expected));

  it("counts what was tried again, not what failed", () => expect(retriesOf(rowsOf(failed))).toBe(2));
});

describe("the fields of an event", () => {
  const shown = (one: Event) => Object.fromEntries(fieldsOf(one).map((field) => [field.name, field.value]));

  it("are all there, with units, the type's own among them", () => {
    const fields = shown(
      event("api_error", {
        duration_ms: 1500,
        tokens_in: 1234,
        cost_usd: 0.02,
        session_id: "c-1",
        metadata: {
          delayMs: 285,
          statusCode: 1529,
          queued: false,
          retryAfterMs: null,
          layers: [{ hash: "h", id: "soul", tokens: 3 }],
          messages: ["m-1", "m-2"],
        },
      }),
    );
    expect(fields).toMatchObject({
      duration_ms: { text: "1.50 s" },
      tokens_in: { text: "1,234 tok" },
      cost_usd: { text: "$0.020" },
      session_id: { is: "conversation", id: "c-1" },
      turn_id: { is: "turn" },
      delayMs: { text: "285 ms" },
      statusCode: { text: "1529" },
      queued: { text: "no" },
      retryAfterMs: { text: "none" },
      layers: { is: "table", columns: ["id", "hash", "tokens"], rows: [["soul", "h", "3 tok"]] },
      messages: { text: "m-1, m-2" },
    });
  });

  it("that nobody has heard of yet are shown too", () =>
    expect(shown(event("x", { whatever: "new" } as Partial<Event>)).whatever).toEqual({ is: "text", text: "new" }));

  it.each([
    ["retryAttempt", "retry attempt"],
    ["session_id", "conversation"],
    ["delayMs", "delay"],
    ["parent_span_id", "parent span id"],
  ])("%s is called %s", (name, expected) => {
    expect(labelOf(name)).toBe(expected);
  });
});
