import { expect, it } from "vitest";
import { BoundedCache } from "./bounded_cache";

it("what was kept last is there, and what nobody has kept for longest is forgotten", () => {
  const latest = new BoundedCache<number>(3);
  for (const [name, value] of [
    ["a", 1],
    ["b", 2],
    ["c", 3],
    ["a", 4],
    ["d", 5],
  ] as const)
    latest.set(name, value);
  expect(["a", "b", "c", "d"].map((name) => latest.get(name))).toEqual([4, undefined, 3, 5]);
});

it("a week of lists is no more than a day of them", () => {
  const latest = new BoundedCache<number>(20);
  for (let at = 0; at < 10_000; at++) latest.set(`list ${at}`, at);
  expect(
    Array.from({ length: 10_000 }, (_, at) => latest.get(`list ${at}`)).filter((value) => value !== undefined),
  ).toHaveLength(20);
});
