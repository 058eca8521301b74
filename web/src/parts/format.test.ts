import { describe, expect, it } from "vitest";
import { ago, count, duration, money, plural, share } from "./format";

describe("figures", () => {
  it.each([
    [0, "$0"],
    [12.3, "$12.30"],
    [0.0523, "$0.052"],
    [0.0042, "$0.0042"],
    [0.000018, "$0.000018"],
    [-0.5, "−$0.500"],
    [null, "–"],
  ])("money %s is written %s", (value, expected) => expect(money(value)).toBe(expected));

  it.each([
    [3, "3 ms"],
    [1234, "1.23 s"],
    [61_000, "1 min 1 s"],
    [7_260_000, "2 h 1 min"],
    [undefined, "–"],
    [999.7, "1.00 s"],
    [9_996, "10.0 s"],
    [59_990, "1 min 0 s"],
    [119_700, "2 min 0 s"],
    [3_599_800, "1 h 0 min"],
    [172_799_900, "2 days"],
  ])("%s milliseconds are written %s", (value, expected) => expect(duration(value)).toBe(expected));

  it("a share has one digit behind the point", () => expect(share(0.8312)).toBe("83.1 %"));
  it("one is one, and more are many", () =>
    expect([plural(1, "layer"), plural(1234, "token")]).toEqual(["1 layer", "1,234 tokens"]));
  it("large numbers are grouped", () => expect(count(1234567)).toBe("1,234,567"));
  it("times are told from now", () => {
    const now = Date.parse("2026-01-02T00:00:00Z");
    expect(ago("2026-01-01T23:58:00Z", now)).toBe("2 min ago");
    expect(ago("2026-01-02T02:00:00Z", now)).toBe("in 2 h");
  });
});
