import { describe, expect, it } from "vitest";
import type { CostRow, Event } from "../../api/schema";
import { callsOf, daysOf, sinceOf, spanOf } from "./series";

const row = (key: string, cost_usd: number | null, cache_share: number | null = null) =>
  ({ key, cost_usd, cache_share, calls: 1 }) as CostRow;

describe("days", () => {
  it.each([
    ["in UTC", "2026-11-14T00:00:00Z", "2026-11-17T02:00:00Z"],
    ["east of it", "2026-11-13T22:00:00Z", "2026-11-16T23:00:00Z"],
    ["west of it", "2026-11-14T08:00:00Z", "2026-11-18T07:59:00Z"],
  ])("have no gaps where the server is %s", (_, since, until) => {
    const days = daysOf({ since, until, rows: [row("2026-11-15", 0.5, 0.8), row("2026-11-17", null)] });
    expect(days.map((day) => day.label)).toEqual(["14 Nov", "15 Nov", "16 Nov", "17 Nov"]);
    expect(days.map((day) => day.cost)).toEqual([0, 0.5, 0, null]);
    expect(days.map((day) => day.share)).toEqual([null, 0.8, null, null]);
  });

  it("that were told of but are outside are not lost", () => {
    expect(
      daysOf({ since: "2026-11-16T00:00:00Z", until: "2026-11-16T02:00:00Z", rows: [row("2026-11-17", 1)] }).map(
        (day) => day.cost,
      ),
    ).toEqual([0, 1]);
  });

  it("asked for begin at a midnight", () => {
    const now = new Date(2026, 10, 3, 9);
    expect(sinceOf("7", now)).toBe("2026-10-28");
    expect(sinceOf("30", now)).toBe("2026-10-05");
    expect(sinceOf("today", now)).toBe("today");
    expect(spanOf("365")).toBe("7");
  });
});

describe("calls", () => {
  it("stand in their order, and what no provider told is no zero", () => {
    const events = [
      { tokens_in: 100, cache_read_tokens: 80, cost_usd: 0.2 },
      { tokens_in: 100, cost_usd: 0.1 },
      { tokens_in: 0, cache_read_tokens: 0 },
    ] as Event[];
    expect(callsOf(events).map((call) => [call.label, call.cost, call.share])).toEqual([
      ["1", null, null],
      ["2", 0.1, null],
      ["3", 0.2, 0.8],
    ]);
  });
});
