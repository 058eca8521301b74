// Messages the server has not accepted yet. They are kept in session storage, so that a lost connection or a reload
// loses nothing, and sent with an idempotency key, so that each is answered once.
import { useEffect, useState } from "preact/hooks";
import type { ApiError } from "../../api/client";

/** Who speaks and where, unless it is the signed-in user. */
export interface Speaker {
  user?: string;
  situation?: string;
}

export interface OutgoingMessage {
  /** The idempotency key, the same for every attempt. */
  key: string;
  text: string;
  /** The conversation; undefined while it has yet to be created. */
  conversation?: string;
  /** How to create the conversation; set until the page has navigated to it. */
  begin?: { id?: string; agent?: string };
  speaker?: Speaker;
  /** The author's name. */
  author: string;
  at: string;
  /** Why the server refused it; it waits for the user's decision. */
  problem?: { message: string; help: string | null };
}

const KEY = "foreword.outbox";
let pending: OutgoingMessage[] = load();
const listeners = new Set<(pending: OutgoingMessage[]) => void>();

function load(): OutgoingMessage[] {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? (found as OutgoingMessage[]) : [];
  } catch {
    return [];
  }
}

function save(now: OutgoingMessage[]): void {
  pending = now;
  sessionStorage.setItem(KEY, JSON.stringify(now));
  for (const listener of listeners) listener(now);
}

/**
 * The key under which the message is shown: a message that creates a conversation stays in the new-chat view until the
 * page navigates.
 */
function viewOf(outgoing: OutgoingMessage): string | undefined {
  return outgoing.begin ? undefined : outgoing.conversation;
}

export const outbox = {
  all: (): OutgoingMessage[] => pending,
  add: (outgoing: OutgoingMessage): void => save([...pending, outgoing]),
  change: (key: string, change: Partial<OutgoingMessage>): void =>
    save(pending.map((outgoing) => (outgoing.key === key ? { ...outgoing, ...change } : outgoing))),
  /** Messages written before the conversation existed go to the same one. */
  begun: (conversation: string): void =>
    save(pending.map((outgoing) => (outgoing.conversation ? outgoing : { ...outgoing, conversation }))),
  /** The page shows the conversation now. */
  arrived: (conversation: string): void =>
    save(
      pending.map((outgoing) =>
        outgoing.conversation === conversation ? { ...outgoing, begin: undefined } : outgoing,
      ),
    ),
  remove: (key: string): void => save(pending.filter((outgoing) => outgoing.key !== key)),
  refuse: (key: string, error: ApiError): void =>
    outbox.change(key, { problem: { message: error.message, help: error.help } }),
};

/** The waiting messages of a conversation, or of one that has yet to be created. */
export function useOutbox(conversation: string | undefined): OutgoingMessage[] {
  const [all, setAll] = useState(pending);
  useEffect(() => {
    setAll(pending);
    listeners.add(setAll);
    return () => void listeners.delete(setAll);
  }, []);
  return all.filter((outgoing) => viewOf(outgoing) === conversation);
}
