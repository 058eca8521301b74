// What a conversation is called: its title, or a word for what it is if nobody gave it one.
import { visible } from "../visible";

export interface Called {
  id: string;
  /** Null if it has none; left out if that is not known here. */
  title?: string | null;
}

/** Conversations that begin by themselves, by how their ids begin. */
const KINDS: [string, (rest: string) => string][] = [
  ["inbox-", () => "Letters in the inbox"],
  ["schedule-", (rest) => `Schedule ${rest}`],
  ["workflow-", (rest) => `Workflow ${rest}`],
  ["channel-", (rest) => `Channel ${rest}`],
  ["proxy:", () => "A program's own conversation"],
  ["autonomous", () => "The agent's own turns"],
];

export function nameOf(one: Called): string {
  if (one.title) return visible(one.title);
  const kind = KINDS.find(([beginning]) => one.id.startsWith(beginning));
  return kind ? kind[1](one.id.slice(kind[0].length)) : one.id;
}

/** Whether its first words would say more than its name. */
export function isNameless(one: Called): boolean {
  return !one.title && nameOf(one) === one.id;
}
