// What a conversation is called: its title, or a word for what it is if nobody gave it one.
import type { ConversationBody } from "../../api/schema";

/** Conversations that begin by themselves, by how their ids begin. */
const KINDS: [string, (rest: string) => string][] = [
  ["inbox-", () => "Letters in the inbox"],
  ["schedule-", (rest) => `Schedule ${rest}`],
  ["workflow-", (rest) => `Workflow ${rest}`],
  ["channel-", (rest) => `Channel ${rest}`],
  ["proxy:", () => "A program's own conversation"],
  ["autonomous", () => "The agent's own turns"],
];

export function nameOf(one: Pick<ConversationBody, "id" | "title">): string {
  if (one.title) return one.title;
  const kind = KINDS.find(([beginning]) => one.id.startsWith(beginning));
  return kind ? kind[1](one.id.slice(kind[0].length)) : one.id;
}

/** Whether its first words would say more than its name. */
export function isNameless(one: Pick<ConversationBody, "id" | "title">): boolean {
  return !one.title && nameOf(one) === one.id;
}
