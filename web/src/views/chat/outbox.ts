// What was written and not taken in yet. It is kept for the tab, so that neither a lost connection nor a reload loses a word, and
// sent under one key, so that it is answered once.
import { useEffect, useState } from "preact/hooks";
import type { Refusal } from "../../api/client";

/** Who speaks, and where, if it is not the person at the page. */
export interface Speaker {
  user?: string;
  situation?: string;
}

export interface Letter {
  /** The same for every attempt. */
  key: string;
  text: string;
  /** Where; none as long as the conversation is to be begun. */
  conversation?: string;
  /** How it is to be begun; there until the page was told that it is. */
  begin?: { id?: string; agent?: string };
  speaker?: Speaker;
  /** Who says it, by name. */
  author: string;
  at: string;
  /** Why it was not taken in; it waits until somebody decides. */
  problem?: { message: string; help: string | null };
}

const KEY = "foreword.outbox";
let letters: Letter[] = kept();
const listeners = new Set<(letters: Letter[]) => void>();

function kept(): Letter[] {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? (found as Letter[]) : [];
  } catch {
    return [];
  }
}

function keep(now: Letter[]): void {
  letters = now;
  sessionStorage.setItem(KEY, JSON.stringify(now));
  for (const listener of listeners) listener(now);
}

/** Where a letter is shown: what is to begin a conversation stays where it was written until the page goes there. */
function placeOf(letter: Letter): string | undefined {
  return letter.begin ? undefined : letter.conversation;
}

export const outbox = {
  all: (): Letter[] => letters,
  add: (letter: Letter): void => keep([...letters, letter]),
  change: (key: string, change: Partial<Letter>): void => keep(letters.map((letter) => (letter.key === key ? { ...letter, ...change } : letter))),
  /** What was written before a conversation had begun goes into the same one. */
  begun: (conversation: string): void => keep(letters.map((letter) => (letter.conversation ? letter : { ...letter, conversation }))),
  /** The page is at the conversation now. */
  arrived: (conversation: string): void => keep(letters.map((letter) => (letter.conversation === conversation ? { ...letter, begin: undefined } : letter))),
  remove: (key: string): void => keep(letters.filter((letter) => letter.key !== key)),
  refuse: (key: string, refusal: Refusal): void => outbox.change(key, { problem: { message: refusal.message, help: refusal.help } }),
};

/** What waits in a conversation, or for one that is to be begun. */
export function useOutbox(conversation: string | undefined): Letter[] {
  const [all, setAll] = useState(letters);
  useEffect(() => {
    setAll(letters);
    listeners.add(setAll);
    return () => void listeners.delete(setAll);
  }, []);
  return all.filter((letter) => placeOf(letter) === conversation);
}
