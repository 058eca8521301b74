import { expect, it } from "vitest";
import { ApiError } from "../../api/client";
import type { TemplateImpact } from "../../api/schema";
import { costLine } from "./cost_line";

const impact = {
  changed: true,
  conversations: 3,
  affected: 3,
  cached_tokens: 667,
  cost_usd: 0.00061,
  unpriced: 0,
  or_more: false,
  max_checked: 3,
  items: [],
} as unknown as TemplateImpact;

it("what saving costs fits in a line", () => {
  const line = (dirty: boolean, value?: TemplateImpact, error?: ApiError) => costLine(dirty, { value, error });
  expect(line(true, impact)).toBe("Saving affects 3 of 3 conversations: 667 tok, $0.00061");
  expect(line(true, { ...impact, or_more: true })).toContain("3 of 3 conversations or more:");
  expect(line(true, { ...impact, affected: 0 })).toBe("Saving affects no conversation.");
  expect(line(true)).toContain("Calculating");
  expect(line(true, undefined, new ApiError("unreachable", "x"))).toContain("not known");
  expect(line(false, impact)).toBe("Nothing to save.");
});
