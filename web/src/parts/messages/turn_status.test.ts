import { describe, expect, it } from "vitest";
import { parseWait, withRemaining } from "./TurnStatus";

describe("a status that tells how long it takes", () => {
  it.each([
    ["Rate limited. Retrying in 3s...", 3, "Rate limited. Retrying in 3 s"],
    [
      "Rate limited. Retrying in 120s... (the provider asked for 3600s)",
      120,
      "Rate limited. Retrying in 120 s (the provider asked for 3600s)",
    ],
    ["Overloaded. Retrying in 0.4s...", 0.4, "Overloaded. Retrying in 1 s"],
    ["Rate limited. Retrying in 400ms...", 0.4, "Rate limited. Retrying in 1 s"],
  ])("%s", (text, seconds, shown) => {
    expect(parseWait(text)).toBeCloseTo(seconds);
    expect(withRemaining(text, seconds)).toBe(shown);
    expect(withRemaining(text, -1)).toContain("Retrying now …");
  });

  it("and one that does not is left as it is", () => {
    expect(parseWait("The database was away for a while.")).toBeUndefined();
    expect(withRemaining("Summarising.", 0)).toBe("Summarising.");
  });
});
