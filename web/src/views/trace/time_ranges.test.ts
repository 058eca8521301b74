import { describe, expect, it } from "vitest";
import { rangeOf, timeOf } from "./time_ranges";

const now = new Date(2026, 10, 17, 9, 30);
const local = (day: number, hour: number) => new Date(2026, 10, day, hour).toISOString();

describe("a stretch of time", () => {
  it.each([
    ["", undefined, undefined],
    ["hour", new Date(2026, 10, 17, 8, 30).toISOString(), undefined],
    ["today", local(17, 0), undefined],
    ["night", local(16, 18), local(17, 8)],
    ["yesterday", local(16, 0), local(17, 0)],
    ["week", local(11, 0), undefined],
  ] as const)("`%s` begins and ends where the reader is", (time, since, until) => {
    expect(rangeOf(time, now)).toEqual({ ...(since && { since }), ...(until && { until }) });
  });

  it("that nobody knows is any time", () => {
    expect(timeOf("next year")).toBe("");
    expect(timeOf(null)).toBe("");
    expect(timeOf("night")).toBe("night");
  });
});
