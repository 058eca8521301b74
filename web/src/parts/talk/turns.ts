// What the turns of a conversation took, as the record has it.
import { useAsking } from "../../api/asking";
import { Refusal, api, asked } from "../../api/client";
import type { Turn } from "../../api/schema";
import { useSession } from "../../shell/session";

export interface TurnCost {
  state: string;
  /** How many calls to a model were answered; what it took is known of those. */
  calls: number;
  read: number | null;
  cached: number | null;
  written: number | null;
  usd: number | null;
  ms: number | null;
}

/** How many turns are looked at. */
export const MOST_TURNS = 200;

/** The last turns of a conversation by their ids; none where they may not be seen. */
async function readTurns(conversation: string, signal: AbortSignal): Promise<Map<string, TurnCost>> {
  try {
    const { items } = await asked(api.GET("/api/v1/turns", { params: { query: { session: conversation, limit: MOST_TURNS } }, signal }));
    return new Map(items.map((turn) => [turn.turn, costOf(turn)]));
  } catch (error) {
    const refusal = Refusal.of(error);
    // Whoever only takes part in a conversation is not told what it cost.
    if (refusal.status === 403 || refusal.status === 404) return NONE;
    throw refusal;
  }
}

function costOf(turn: Turn): TurnCost {
  return { state: turn.state, calls: turn.calls, read: turn.tokens_in, cached: turn.cache_read_tokens, written: turn.tokens_out, usd: turn.cost_usd ?? null, ms: turn.duration_ms ?? null };
}

export function useTurnCosts(conversation: string | undefined): Map<string, TurnCost> {
  const looks = useSession().scopes.includes("observe");
  return useAsking(conversation && looks ? conversation : null, (signal) => readTurns(conversation ?? "", signal)).value ?? NONE;
}

const NONE = new Map<string, TurnCost>();
