// The spans of a trace as waterfall rows: position, depth and description.
import type { Event, Span, Trace } from "../../api/schema";
import { type Kind, kindOf } from "./kinds";

export interface Row {
  /** The path in the tree, such as `0.2.1`: stable while a running turn grows. */
  id: string;
  depth: number;
  span: Span;
  kind: Kind;
  /** The error message, if it failed. */
  error: string | null;
  /** Whether the error was final or was retried. */
  fatal: boolean;
  words: string;
  tokensIn: number | null;
  tokensOut: number | null;
  cacheRead: number | null;
  cost: number | null;
  /** A finished turn without an answered model call: its recorded cost of 0 is not a charge. */
  uncharged?: boolean;
}

/** All spans in pre-order, siblings by start time. */
export function rowsOf(trace: Pick<Trace, "spans">): Row[] {
  const rows: Row[] = [];
  const walk = (spans: Span[], depth: number, above: string) => {
    ordered(spans).forEach((span, at) => {
      const id = above === "" ? String(at) : `${above}.${at}`;
      rows.push(rowOf(span, id, depth));
      walk(span.children, depth + 1, id);
    });
  };
  walk(trace.spans.map(nestSpans), 0, "");
  if (rows.some((row) => row.kind === "model")) return rows;
  return rows.map((row) => (row.cost === 0 ? { ...row, cost: null, uncharged: true } : row));
}

/** Spans recorded next to a turn, such as trust and prompt, are shown inside it if they belong to it and overlap it. */
function nestSpans(span: Span): Span {
  const children = span.children.map(nestSpans);
  const turn = children.find((child) => child.name === "turn");
  if (!turn) return { ...span, children };
  const id = turn.events.find((event) => event.turn_id)?.turn_id;
  const within = (child: Span) =>
    child !== turn &&
    id !== undefined &&
    child.events.some((event) => event.turn_id === id) &&
    child.offset_ms >= turn.offset_ms &&
    child.offset_ms + child.duration_ms <= turn.offset_ms + turn.duration_ms;
  const inner = children.filter(within);
  const whole = { ...turn, children: [...turn.children, ...inner] };
  return {
    ...span,
    children: children.filter((child) => !inner.includes(child)).map((child) => (child === turn ? whole : child)),
  };
}

function ordered(spans: Span[]): Span[] {
  return [...spans].sort((a, b) => a.offset_ms - b.offset_ms || first(a) - first(b));
}

/** Spans that started in the same millisecond keep their recorded order; a wait follows the error that caused it. */
function first(span: Span): number {
  const ids = span.events.map((event) => event.id ?? Number.MAX_SAFE_INTEGER);
  return ids.length === 0 ? Number.MAX_SAFE_INTEGER : Math.min(...ids);
}

function rowOf(span: Span, id: string, depth: number): Row {
  const wrong = span.events.find((event) => event.error);
  return {
    id,
    depth,
    span,
    kind: kindOf(span.name),
    error: wrong?.error ?? null,
    fatal: span.events.some((event) => event.level === "error"),
    words: describeSpan(span),
    tokensIn: errorOf(span.events, "tokens_in"),
    tokensOut: errorOf(span.events, "tokens_out"),
    cacheRead: errorOf(span.events, "cache_read_tokens"),
    cost: errorOf(span.events, "cost_usd"),
  };
}

function errorOf(events: Event[], field: "tokens_in" | "tokens_out" | "cache_read_tokens" | "cost_usd"): number | null {
  for (const event of events) if (typeof event[field] === "number") return event[field];
  return null;
}

export function metadataOf(event: Event): Record<string, unknown> {
  const metadata: unknown = event.metadata;
  return typeof metadata === "object" && metadata !== null && !Array.isArray(metadata)
    ? (metadata as Record<string, unknown>)
    : {};
}

/** The fields that distinguish spans of the same name. */
function describeSpan(span: Span): string {
  const all = Object.assign({}, ...span.events.map(metadataOf)) as Record<string, unknown>;
  const text = (key: string) =>
    typeof all[key] === "string" || typeof all[key] === "number" ? String(all[key]) : undefined;
  switch (span.name) {
    case "trust_resolved":
      return [
        text("effective") && `${text("effective")} trust`,
        text("ceiling") && `this place permits ${text("ceiling")}`,
      ]
        .filter(Boolean)
        .join("; ");
    case "prompt_built":
      return [
        text("epoch") && `epoch ${text("epoch")}`,
        text("tokens") && `${Number(text("tokens")).toLocaleString("en-GB")} tokens`,
        Array.isArray(all.layers) && `${all.layers.length} layers`,
      ]
        .filter(Boolean)
        .join(", ");
    case "memory_search":
      return text("query") ? `“${text("query")}”` : "";
    default:
      return text("tool") ?? text("model") ?? text("cause") ?? text("outcome") ?? "";
  }
}
