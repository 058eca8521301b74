// A turn in one sentence or three: how it ended, why, how long it took, and what it cost. Nothing but what is on record.
import type { Trace } from "../../api/schema";
import { duration, money } from "../../parts/figures";
import { sentence } from "../../parts/told";
import { breakdownOf, callsCost } from "./breakdown";
import { type Row, metadataOf } from "./spans";

export function summaryOf(trace: Trace, rows: Row[]): string {
  return [endOf(trace, rows), timeOf(trace, rows), costOf(trace, rows)].filter(Boolean).join(" ");
}

/** How often a call was tried again. */
export function retriesOf(rows: Row[]): number {
  return rows.flatMap((row) => row.span.events).filter((event) => event.event_type === "api_error" && typeof metadataOf(event).delayMs === "number").length;
}

function endOf(trace: Trace, rows: Row[]): string {
  const retries = retriesOf(rows);
  const after = retries === 0 ? "" : ` after ${retries} ${retries === 1 ? "retry" : "retries"}`;
  const reason = reasonOf(rows);
  switch (trace.state) {
    case "failed":
      return sentence(`Failed${after}: ${reason ?? trace.error ?? "no reason is on record"}`);
    case "cancelled":
      return sentence(`Stopped by somebody${after}`);
    case "interrupted":
      return sentence(`Cut off${after}, and not to be run again`);
    case "running":
      return sentence(`Under way${after}`);
    default:
      return sentence(`Answered${after}${retries > 0 && reason ? ` (${reason})` : ""}`);
  }
}

/** The latest failure of a call, without the provider's name in front. */
function reasonOf(rows: Row[]): string | undefined {
  const event = rows.flatMap((row) => row.span.events).filter((event) => event.event_type === "api_error" && event.error).at(-1);
  if (!event?.error) return undefined;
  const provider = metadataOf(event).provider;
  const prefix = typeof provider === "string" ? `${provider}: ` : "";
  return prefix && event.error.startsWith(prefix) ? event.error.slice(prefix.length) : event.error;
}

function timeOf(trace: Trace, rows: Row[]): string {
  if (typeof trace.duration_ms !== "number") return "";
  if (trace.state === "running") return `${duration(trace.duration_ms)} of it are on record so far.`;
  const waited = breakdownOf(rows, trace.duration_ms).find((portion) => portion.kind === "wait")?.ms ?? 0;
  return `${duration(trace.duration_ms)}${waited > 0 ? `, of which ${duration(waited)} waiting` : ""}.`;
}

/** Whether it is over and no model answered, so that there is nothing to pay. What broke off may have been paid for. */
export function isUncharged(trace: Trace, recorded: number | null): boolean {
  return trace.state !== "running" && trace.calls === 0 && !trace.cost_usd && !recorded;
}

function costOf(trace: Trace, rows: Row[]): string {
  if (isUncharged(trace, callsCost(rows))) return "No answered call, so nothing was charged.";
  if (typeof trace.cost_usd === "number") return `${money(trace.cost_usd)}.`;
  const recorded = callsCost(rows);
  if (recorded !== null) return `${money(recorded)} is on record; more may not be known.`;
  if (trace.state === "running") return "";
  return "What it cost is not known.";
}
