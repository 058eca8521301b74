// The data of the charts: days without gaps, or calls in order. Unknown values stay unknown; they are not zero.
import type { CostRow, Costs, Event } from "../../api/schema";

export interface Point {
  /** The label on the x axis. */
  label: string;
  cost: number | null;
  /** The share read from the cache, from 0 to 1. */
  share: number | null;
}

const DAY_MS = 86_400_000;

/** A point for every day since `since`; the server omits days without calls. */
export function daysOf(costs: Pick<Costs, "since" | "until" | "rows">): Point[] {
  const rows = new Map(costs.rows.map((row) => [row.key, row]));
  return keysOf(costs).map((key) => {
    const row: CostRow | undefined = rows.get(key);
    return { label: dayLabel(key), cost: row ? (row.cost_usd ?? null) : 0, share: row?.cache_share ?? null };
  });
}

/** Days follow the server's time zone. `since` is midnight there, which reveals the offset. */
function keysOf({ since, until, rows }: Pick<Costs, "since" | "until" | "rows">): string[] {
  const begun = new Date(since).getTime();
  const first = Math.floor((begun + DAY_MS / 2) / DAY_MS) * DAY_MS;
  const last = new Date(until).getTime() + (first - begun) - 1;
  const keys: string[] = [];
  for (let day = first; day <= last; day += DAY_MS) keys.push(new Date(day).toISOString().slice(0, 10));
  const beyond = rows
    .map((row) => row.key)
    .filter((key): key is string => typeof key === "string" && !keys.includes(key));
  return [...keys, ...beyond].sort();
}

export function dayLabel(key: string): string {
  const date = new Date(`${key}T12:00:00Z`);
  return Number.isNaN(date.getTime())
    ? key
    : date.toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}

/** A point for every call, oldest first, from events that come newest first. */
export function callsOf(events: Event[]): Point[] {
  return [...events].reverse().map((event, at) => ({
    label: String(at + 1),
    cost: event.cost_usd ?? null,
    share:
      typeof event.cache_read_tokens === "number" && event.tokens_in ? event.cache_read_tokens / event.tokens_in : null,
  }));
}

/** The number of days with spending or reads. */
export function daysWithCalls(costs: Pick<Costs, "rows">): number {
  return costs.rows.filter((row) => row.calls > 0).length;
}

/** An amount, marked as a lower bound if it lacks calls without a price. */
export function amountSign(unpriced: number): string {
  return unpriced > 0 ? "≥ " : "";
}

export const SPANS = { today: "today", "7": "7 days", "30": "30 days" } as const;
export type SpanName = keyof typeof SPANS;
/** In menu order. */
export const SPAN_NAMES: SpanName[] = ["today", "7", "30"];

export function spanOf(word: string | null): SpanName {
  return word !== null && Object.hasOwn(SPANS, word) ? (word as SpanName) : "7";
}

/** The start of the period in the server's format: a date means midnight in its time zone. */
export function sinceOf(span: SpanName, now: Date): string {
  if (span === "today") return "today";
  const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() - (Number(span) - 1));
  return `${day.getFullYear()}-${String(day.getMonth() + 1).padStart(2, "0")}-${String(day.getDate()).padStart(2, "0")}`;
}
