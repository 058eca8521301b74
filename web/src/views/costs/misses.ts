// Describes a cache miss: cause, position, cost, and advice.
import type { Cache } from "../../api/schema";
import { count, money } from "../../parts/format";

/** A cache miss with its diagnosis; unknown fields are omitted. */
export interface Miss {
  at: string;
  conversation: string;
  /** The turn's number in the conversation, starting at 1. */
  turn?: number | null;
  turn_id?: string | null;
  cause?: string;
  detail?: string;
  advice?: string;
  section?: string;
  layer?: string;
  file?: string;
  bytes?: [number, number];
  model?: string;
  tokens_rewritten?: number;
  tokens_read?: number;
  cost_usd?: number | null;
  cost_if_hit_usd?: number | null;
  not_known?: string[];
}

/** All cache misses, latest first. */
export function missesOf(cache: Pick<Cache, "conversations">): Miss[] {
  const all = cache.conversations.flatMap((one) =>
    one.misses.map((miss) => ({ ...miss, conversation: one.conversation }) as unknown as Miss),
  );
  return all.sort((a, b) => b.at.localeCompare(a.at));
}

const CAUSES: Record<string, string> = {
  clock: "The prompt contains the time",
  random_id: "The prompt contains a changing id",
  tools_changed: "The tools changed",
  tools_reordered: "The order of the tools changed",
  layer_edited: "A layer was edited",
  system_changed: "The system prompt changed",
  settings_changed: "The settings changed",
  trust_changed: "Trust changed",
  occasion_changed: "The occasion changed",
  model_changed: "The model changed",
  compaction: "The history was compacted",
  history_rewritten: "The history was rewritten",
  expired: "The pause was too long",
  below_minimum: "Too short to be cached",
  no_breakpoint: "No cache breakpoint",
  too_many_breakpoints: "Too many cache breakpoints",
  out_of_reach: "The last cache breakpoint was too far back",
  provider_missed: "Miss by the provider",
  unknown: "Unknown cause",
};

export function causeText(cause: string | undefined): string {
  return CAUSES[cause ?? "unknown"] ?? (cause ?? "").replaceAll("_", " ");
}

/** Where the request differs from the one before it. */
export function positionText(miss: Miss): string | null {
  const from = miss.bytes ? `, from byte ${count(miss.bytes[0])} on` : "";
  if (miss.layer) return `layer ${miss.layer}${miss.file ? ` (${miss.file})` : ""}${from}`;
  const [part, at] = (miss.section ?? "").split(/:(.*)/, 2);
  if (!part) return null;
  if (part === "system" && at) return `block ${Number(at) + 1} of the system prompt${from}`;
  if (part === "message" && at) return `message ${Number(at) + 1} of the history${from}`;
  return at ? `${part} ${at}${from}` : `the ${part}${from}`;
}

/** For example `$0.0030 instead of $0.00024`, as far as it is known. */
export function costText(miss: Miss): string {
  if (typeof miss.cost_usd !== "number") return "cost unknown";
  return typeof miss.cost_if_hit_usd === "number"
    ? `${money(miss.cost_usd)} instead of ${money(miss.cost_if_hit_usd)}`
    : money(miss.cost_usd);
}
