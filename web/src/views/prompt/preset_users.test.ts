import { expect, it } from "vitest";
import { presetUsers } from "./preset_users";

const users = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `user${at}` }));
const names = (list: { name: string }[]) => list.map((one) => one.name.slice(4)).join(" ");

const table: [string, number, string | undefined, string, number][] = [
  ["few are all there", 3, "user1", "0 1 2", 0],
  ["nobody at all", 0, undefined, "", 0],
  ["one too many is not folded away alone", 7, "user0", "0 1 2 3 4 5 6", 0],
  ["of thirty, six", 30, "user0", "0 1 2 3 4 5", 24],
  ["whoever is chosen is in sight", 30, "user20", "0 1 2 3 4 20", 24],
  ["somebody nobody knows changes nothing", 30, "mallory", "0 1 2 3 4 5", 24],
];
it.each(table)("%s", (_, count, chosen, first, more) => {
  const arrange = presetUsers(users(count), chosen);
  expect([names(arrange.first), arrange.more.length]).toEqual([first, more]);
  expect(arrange.first.length + arrange.more.length).toBe(count);
});
