import { expect, it } from "vitest";
import { backoffDelay } from "./backoff";

it("waits twice as long each time, up to eight seconds, and never the same for all", () => {
  expect([0, 1, 2, 3].map((failures) => backoffDelay(failures, 1))).toEqual([300, 600, 1200, 2400]);
  expect([5, 50, 5000].map((failures) => backoffDelay(failures, 1))).toEqual([8000, 8000, 8000]);
  expect(backoffDelay(3, 0)).toBe(1200);
});
