// What the charts draw: days without gaps, or calls in their order. What nobody knows stays unknown and is no zero.
import type { CostRow, Costs, Event } from "../../api/schema";

export interface Point {
  /** What stands below it on the axis. */
  label: string;
  cost: number | null;
  /** Which part was read from the cache, from 0 to 1. */
  share: number | null;
}

const DAY_MS = 86_400_000;

/** A point for every day from `since` on; the server leaves out those on which nothing was. */
export function daysOf(costs: Pick<Costs, "since" | "until" | "rows">): Point[] {
  const rows = new Map(costs.rows.map((row) => [row.key, row]));
  return keysOf(costs).map((key) => {
    const row: CostRow | undefined = rows.get(key);
    return { label: dayLabel(key), cost: row ? (row.cost_usd ?? null) : 0, share: row?.cache_share ?? null };
  });
}

/** Days begin where the server is. `since` is a midnight there, which tells its zone. */
function keysOf({ since, until, rows }: Pick<Costs, "since" | "until" | "rows">): string[] {
  const begun = new Date(since).getTime();
  const first = Math.floor((begun + DAY_MS / 2) / DAY_MS) * DAY_MS;
  const last = new Date(until).getTime() + (first - begun) - 1;
  const keys: string[] = [];
  for (let day = first; day <= last; day += DAY_MS) keys.push(new Date(day).toISOString().slice(0, 10));
  const beyond = rows.map((row) => row.key).filter((key): key is string => typeof key === "string" && !keys.includes(key));
  return [...keys, ...beyond].sort();
}

export function dayLabel(key: string): string {
  const date = new Date(`${key}T12:00:00Z`);
  return Number.isNaN(date.getTime()) ? key : date.toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}

/** A point for every call, the first first, out of events that come newest first. */
export function callsOf(events: Event[]): Point[] {
  return [...events].reverse().map((event, at) => ({
    label: String(at + 1),
    cost: event.cost_usd ?? null,
    share: typeof event.cache_read_tokens === "number" && event.tokens_in ? event.cache_read_tokens / event.tokens_in : null,
  }));
}

/** How many days something was spent or read on. */
export function daysWithCalls(costs: Pick<Costs, "rows">): number {
  return costs.rows.filter((row) => row.calls > 0).length;
}

/** An amount with a sign in front if calls without a price are missing in it. */
export function amountSign(unpriced: number): string {
  return unpriced > 0 ? "≥ " : "";
}

export const SPANS = { today: "today", "7": "7 days", "30": "30 days" } as const;
export type SpanName = keyof typeof SPANS;
/** In the order they are offered. */
export const SPAN_NAMES: SpanName[] = ["today", "7", "30"];

export function spanOf(word: string | null): SpanName {
  return word !== null && Object.hasOwn(SPANS, word) ? (word as SpanName) : "7";
}

/** Since when, as the server understands it: a date is a midnight where the server is. */
export function sinceOf(span: SpanName, now: Date): string {
  if (span === "today") return "today";
  const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() - (Number(span) - 1));
  return `${day.getFullYear()}-${String(day.getMonth() + 1).padStart(2, "0")}-${String(day.getDate()).padStart(2, "0")}`;
}
