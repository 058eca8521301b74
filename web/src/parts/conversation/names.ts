// The name of a conversation: its title, or a generic name derived from its id.
import { showBidiControls } from "../bidi";

export interface ConversationRef {
  id: string;
  /** Null if there is no title; undefined if it is not loaded. */
  title?: string | null;
}

/** Names of conversations that people do not start themselves, by id prefix. */
const KINDS: [string, (rest: string) => string][] = [
  ["inbox-", () => "Inbox messages"],
  ["schedule-", (rest) => `Schedule ${rest}`],
  ["workflow-", (rest) => `Workflow ${rest}`],
  ["channel-", (rest) => `Channel ${rest}`],
  ["proxy:", () => "Proxied conversation"],
  ["autonomous", () => "The agent's own turns"],
];

export function nameOf(one: ConversationRef): string {
  if (one.title) return showBidiControls(one.title);
  const kind = KINDS.find(([beginning]) => one.id.startsWith(beginning));
  return kind ? kind[1](one.id.slice(kind[0].length)) : one.id;
}

/** Whether an excerpt of the first message would be more informative than the name. */
export function isUnnamed(one: ConversationRef): boolean {
  return !one.title && nameOf(one) === one.id;
}
