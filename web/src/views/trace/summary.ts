// Summarises a turn in one to three sentences: outcome, reason, duration and cost, all from the record.
import type { Trace } from "../../api/schema";
import { duration, money } from "../../parts/format";
import { sentence } from "../../parts/states";
import { breakdownOf, callsCost } from "./breakdown";
import { metadataOf, type Row } from "./spans";

export function summaryOf(trace: Trace, rows: Row[]): string {
  return [endOf(trace, rows), timeOf(trace, rows), costOf(trace, rows)].filter(Boolean).join(" ");
}

/** The number of retries. */
export function retriesOf(rows: Row[]): number {
  return rows
    .flatMap((row) => row.span.events)
    .filter((event) => event.event_type === "api_error" && typeof metadataOf(event).delayMs === "number").length;
}

function endOf(trace: Trace, rows: Row[]): string {
  const retries = retriesOf(rows);
  const after = retries === 0 ? "" : ` after ${retries} ${retries === 1 ? "retry" : "retries"}`;
  const reason = reasonOf(rows);
  switch (trace.state) {
    case "failed":
      return sentence(`Failed${after}: ${reason ?? trace.error ?? "no reason recorded"}`);
    case "cancelled":
      return sentence(`Cancelled${after}`);
    case "interrupted":
      return sentence(`Interrupted${after}, and not retried`);
    case "running":
      return sentence(`Running${after}`);
    default:
      return sentence(`Answered${after}${retries > 0 && reason ? ` (${reason})` : ""}`);
  }
}

/** The latest call error, without the provider prefix. */
function reasonOf(rows: Row[]): string | undefined {
  const event = rows
    .flatMap((row) => row.span.events)
    .filter((event) => event.event_type === "api_error" && event.error)
    .at(-1);
  if (!event?.error) return undefined;
  const provider = metadataOf(event).provider;
  const prefix = typeof provider === "string" ? `${provider}: ` : "";
  return prefix && event.error.startsWith(prefix) ? event.error.slice(prefix.length) : event.error;
}

function timeOf(trace: Trace, rows: Row[]): string {
  if (typeof trace.duration_ms !== "number") return "";
  if (trace.state === "running") return `${duration(trace.duration_ms)} recorded so far.`;
  const waited = breakdownOf(rows, trace.duration_ms).find((portion) => portion.kind === "wait")?.ms ?? 0;
  return `${duration(trace.duration_ms)}${waited > 0 ? `, of which ${duration(waited)} waiting` : ""}.`;
}

/**
 * Whether the turn is over without an answered model call, so that nothing was charged. An aborted call may have been
 * charged.
 */
export function isUncharged(trace: Trace, recorded: number | null): boolean {
  return trace.state !== "running" && trace.calls === 0 && !trace.cost_usd && !recorded;
}

function costOf(trace: Trace, rows: Row[]): string {
  if (isUncharged(trace, callsCost(rows))) return "No answered call, so nothing was charged.";
  if (typeof trace.cost_usd === "number") return `${money(trace.cost_usd)}.`;
  const recorded = callsCost(rows);
  if (recorded !== null) return `${money(recorded)} is recorded; there may be unknown costs.`;
  if (trace.state === "running") return "";
  return "The cost is unknown.";
}
