// What conversations are called, for views that have only their ids: each is asked for when it is shown, a few at a time, and
// remembered for a while.
import { api, asked } from "../../api/client";
import { wordsOf } from "../talk/parts";

const AT_ONCE = 4;
const FRESH_MS = 60_000;

let underWay = 0;
const waiting: (() => void)[] = [];

/** Does it once fewer than `AT_ONCE` others are under way. */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  // Who waited takes the place of who is done.
  if (underWay >= AT_ONCE) await new Promise<void>((go) => waiting.push(go));
  else underWay += 1;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else underWay -= 1;
  }
}

/** The same answer for everybody who asks within a minute. A failure is not kept. */
export function remembered(ask: (id: string) => Promise<string>, now: () => number = Date.now): (id: string) => Promise<string> {
  const kept = new Map<string, { at: number; answer: Promise<string> }>();
  return (id) => {
    const known = kept.get(id);
    if (known && now() - known.at < FRESH_MS) return known.answer;
    const answer = inTurn(() => ask(id));
    answer.catch(() => kept.delete(id));
    kept.set(id, { at: now(), answer });
    return answer;
  };
}

/** The title of a conversation; empty if nobody gave it one. */
export const titleOf = remembered(async (id) => (await asked(api.GET("/api/v1/conversations/{id}", { params: { path: { id } } }))).title ?? "");

/** The first words of a conversation, for one that has no title. */
export const firstWordsOf = remembered(async (id) => {
  const page = await asked(api.GET("/api/v1/conversations/{id}/messages", { params: { path: { id }, query: { all: true, limit: 1 } } }));
  const first = page.items[0];
  return first ? wordsOf(first).replace(/\s+/g, " ").slice(0, 120) : "";
});
