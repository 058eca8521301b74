// Loads titles for views that have only conversation ids: on demand, a few at a time, cached for a minute.
import { api, unwrap } from "../../api/client";
import { textOf } from "../messages/parts";

const MAX_CONCURRENT = 4;
const CACHE_TTL_MS = 60_000;

let running = 0;
const queue: (() => void)[] = [];

/** Runs `work` once fewer than `MAX_CONCURRENT` requests are running. */
async function withLimit<T>(work: () => Promise<T>): Promise<T> {
  // A queued request takes over the slot of the finished one.
  if (running >= MAX_CONCURRENT) await new Promise<void>((start) => queue.push(start));
  else running += 1;
  try {
    return await work();
  } finally {
    const next = queue.shift();
    if (next) next();
    else running -= 1;
  }
}

/** Caches results for a minute. Failures are not cached. */
export function cached(
  ask: (id: string) => Promise<string>,
  now: () => number = Date.now,
): (id: string) => Promise<string> {
  const cache = new Map<string, { at: number; answer: Promise<string> }>();
  return (id) => {
    const entry = cache.get(id);
    if (entry && now() - entry.at < CACHE_TTL_MS) return entry.answer;
    const answer = withLimit(() => ask(id));
    answer.catch(() => cache.delete(id));
    cache.set(id, { at: now(), answer });
    return answer;
  };
}

/** The title of a conversation; empty if it has none. */
export const titleOf = cached(
  async (id) => (await unwrap(api.GET("/api/v1/conversations/{id}", { params: { path: { id } } }))).title ?? "",
);

/** An excerpt of the first message, for conversations without a title. */
export const excerptOf = cached(async (id) => {
  const page = await unwrap(
    api.GET("/api/v1/conversations/{id}/messages", { params: { path: { id }, query: { all: true, limit: 1 } } }),
  );
  const first = page.items[0];
  return first ? textOf(first).replace(/\s+/g, " ").slice(0, 120) : "";
});
