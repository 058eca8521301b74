import { describe, expect, it } from "vitest";
import { statusAt, waitIn } from "./Status";

describe("a status that tells how long it takes", () => {
  it.each([
    ["Rate limited. Retrying in 3s...", 3, "Rate limited. Retrying in 3 s"],
    ["Rate limited. Retrying in 120s... (anthropic asked for 3600s)", 120, "Rate limited. Retrying in 120 s (anthropic asked for 3600s)"],
    ["Overloaded. Retrying in 0.4s...", 0.4, "Overloaded. Retrying in 1 s"],
    ["Rate limited. Retrying in 400ms...", 0.4, "Rate limited. Retrying in 1 s"],
  ])("%s", (text, seconds, shown) => {
    expect(waitIn(text)).toBeCloseTo(seconds);
    expect(statusAt(text, seconds)).toBe(shown);
    expect(statusAt(text, -1)).toContain("Retrying now …");
  });

  it("and one that does not is left as it is", () => {
    expect(waitIn("The database was away for a while.")).toBeUndefined();
    expect(statusAt("Summarising.", 0)).toBe("Summarising.");
  });
});
