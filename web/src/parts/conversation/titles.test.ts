import { expect, test } from "vitest";
import { cached } from "./titles";

test("the same id is asked once, until it is stale", async () => {
  let [asks, now] = [0, 0];
  const titleOf = cached(
    async (id) => `${id} ${(asks += 1)}`,
    () => now,
  );
  expect(await Promise.all([titleOf("a"), titleOf("a")])).toEqual(["a 1", "a 1"]);
  now = 61_000;
  expect(await titleOf("a")).toBe("a 2");
});

test("six hundred are asked for four at a time", async () => {
  let [under, most] = [0, 0];
  const titleOf = cached(async (id) => {
    most = Math.max(most, (under += 1));
    await Promise.resolve();
    under -= 1;
    return id;
  });
  const ids = Array.from({ length: 600 }, (_, at) => `c-${at}`);
  expect(await Promise.all(ids.map(titleOf))).toEqual(ids);
  expect(most).toBe(4);
});

test("a failure is asked again", async () => {
  let asks = 0;
  const titleOf = cached(async () => {
    if ((asks += 1) === 1) throw new Error("away");
    return "back";
  });
  await expect(titleOf("a")).rejects.toThrow("away");
  expect(await titleOf("a")).toBe("back");
});
