// Formats every field of an event, with units.
import type { Event } from "../../api/schema";
import { count, duration, money, tokens } from "../../parts/format";
import { metadataOf } from "./spans";

export type Value =
  | { is: "text"; text: string }
  | { is: "time"; at: string }
  | { is: "conversation"; id: string }
  | { is: "turn"; id: string }
  | { is: "table"; columns: string[]; rows: string[][] };

export interface Field {
  name: string;
  value: Value;
  /** Whether the field is specific to the event type. */
  own: boolean;
}

/** Common fields, in display order. */
const COMMON: (keyof Event)[] = [
  "event_type",
  "timestamp",
  "level",
  "error",
  "duration_ms",
  "tokens_in",
  "tokens_out",
  "cache_read_tokens",
  "cache_write_tokens",
  "cost_usd",
  "user_id",
  "agent_id",
  "channel",
  "session_id",
  "turn_id",
  "category",
  "prompt_fingerprint",
  "layer_versions",
  "trace_id",
  "span_id",
  "parent_span_id",
  "id",
];

export function fieldsOf(event: Event): Field[] {
  const common = COMMON.filter((name) => event[name] !== undefined && event[name] !== null).map((name) => ({
    name,
    value: commonValue(name, event[name]),
    own: false,
  }));
  const known = new Set<string>([...COMMON, "metadata"]);
  const rest = Object.entries(event).filter(
    ([name, value]) => !known.has(name) && value !== null && value !== undefined,
  );
  const own = Object.entries(metadataOf(event)).map(([name, value]) => ({
    name,
    value: ownValue(name, value),
    own: true,
  }));
  const [errorOf, ids] = [
    common.slice(
      0,
      common.findIndex((field) => field.name === "category"),
    ),
    common.slice(common.findIndex((field) => field.name === "category")),
  ];
  return [
    ...errorOf,
    ...own,
    ...rest.map(([name, value]) => ({ name, value: ownValue(name, value), own: false })),
    ...ids,
  ];
}

function commonValue(name: keyof Event, value: unknown): Value {
  if (name === "timestamp") return { is: "time", at: String(value) };
  if (name === "session_id") return { is: "conversation", id: String(value) };
  if (name === "turn_id") return { is: "turn", id: String(value) };
  if (typeof value !== "number") return ownValue(name, value);
  if (name === "duration_ms") return text(duration(value));
  if (name === "cost_usd") return text(money(value));
  return text(name === "id" ? String(value) : tokens(value));
}

function ownValue(name: string, value: unknown): Value {
  if (value === null || value === undefined) return text("none");
  if (typeof value === "boolean") return text(value ? "yes" : "no");
  if (typeof value === "number") return text(figure(name, value));
  if (typeof value === "string") return text(value === "" ? "(empty)" : value);
  if (Array.isArray(value)) return listed(value);
  const entries = Object.entries(value);
  return entries.length === 0
    ? text("none")
    : { is: "table", columns: ["name", "value"], rows: entries.map(([key, one]) => [key, plain(key, one)]) };
}

function listed(values: unknown[]): Value {
  if (values.length === 0) return text("none");
  const objects = values.filter(
    (one): one is Record<string, unknown> => typeof one === "object" && one !== null && !Array.isArray(one),
  );
  if (objects.length < values.length) return text(values.map((one) => plain("", one)).join(", "));
  const columns = [...new Set(objects.flatMap(Object.keys))].sort((a, b) => Number(b === "id") - Number(a === "id"));
  return { is: "table", columns, rows: objects.map((one) => columns.map((column) => plain(column, one[column]))) };
}

function plain(name: string, value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return figure(name, value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Names contain their units: `delayMs`, `totalTokens`, `cost_usd`. */
function figure(name: string, value: number): string {
  if (/(Ms|_ms)$/.test(name)) return duration(value);
  if (/_usd$/.test(name)) return money(value);
  if (/tokens/i.test(name)) return tokens(value);
  return /(code|id|epoch|version|attempt)$/i.test(name) ? String(value) : count(value);
}

function text(text: string): Value {
  return { is: "text", text };
}

/** A readable field name: `retryAttempt` becomes `retry attempt`. */
export function labelOf(name: string): string {
  const words = name
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase();
  return (
    {
      "session id": "conversation",
      "turn id": "turn",
      "user id": "user",
      "agent id": "agent",
      "event type": "event",
      "duration ms": "duration",
      "cost usd": "cost",
      timestamp: "time",
    }[words] ?? words.replace(/ (ms|usd)$/, "")
  );
}
