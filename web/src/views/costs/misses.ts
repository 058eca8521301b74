// Why the cache was missed, in words: the cause, the place, the money, and what to do.
import type { Cache } from "../../api/schema";
import { count, money } from "../../parts/figures";

/** A miss with its diagnosis; what is not known is left out. */
export interface Miss {
  at: string;
  conversation: string;
  /** Which turn of the conversation it was; the first is 1. */
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

/** All of them, the latest first. */
export function missesOf(cache: Pick<Cache, "conversations">): Miss[] {
  const all = cache.conversations.flatMap((one) => one.misses.map((miss) => ({ ...miss, conversation: one.conversation }) as unknown as Miss));
  return all.sort((a, b) => b.at.localeCompare(a.at));
}

const CAUSES: Record<string, string> = {
  clock: "A clock stands in the prompt",
  random_id: "An id in the prompt is new each time",
  tools_changed: "The tools changed",
  tools_reordered: "The tools stand in another order",
  layer_edited: "A layer was edited",
  system_changed: "The system prompt changed",
  settings_changed: "The settings changed",
  trust_changed: "Trust changed",
  occasion_changed: "The occasion changed",
  model_changed: "Another model was asked",
  compaction: "The history was summed up",
  history_rewritten: "The history was rewritten",
  expired: "The pause was too long",
  below_minimum: "Too short to be cached",
  no_breakpoint: "Nothing was marked to be cached",
  too_many_breakpoints: "Too many cache marks",
  out_of_reach: "The last mark was too far back",
  provider_missed: "The provider missed",
  unknown: "The cause is not known",
};

export function causeWords(cause: string | undefined): string {
  return CAUSES[cause ?? "unknown"] ?? (cause ?? "").replaceAll("_", " ");
}

/** Where the request and the one before it part. */
export function placeWords(miss: Miss): string | null {
  const from = miss.bytes ? `, from byte ${count(miss.bytes[0])} on` : "";
  if (miss.layer) return `layer ${miss.layer}${miss.file ? ` (${miss.file})` : ""}${from}`;
  const [part, at] = (miss.section ?? "").split(/:(.*)/, 2);
  if (!part) return null;
  if (part === "system" && at) return `block ${Number(at) + 1} of the system prompt${from}`;
  if (part === "message" && at) return `message ${Number(at) + 1} of the history${from}`;
  return at ? `${part} ${at}${from}` : `the ${part}${from}`;
}

/** `$0.0030 instead of $0.00024`, or what is known of it. */
export function moneyWords(miss: Miss): string {
  if (typeof miss.cost_usd !== "number") return "what it cost is not known";
  return typeof miss.cost_if_hit_usd === "number" ? `${money(miss.cost_usd)} instead of ${money(miss.cost_if_hit_usd)}` : money(miss.cost_usd);
}
