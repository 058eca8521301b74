// The recorded usage of a conversation's turns.

import { ApiError, api, unwrap } from "../../api/client";
import { useQuery } from "../../api/query";
import type { Turn } from "../../api/schema";
import { useSession } from "../../shell/session";

export interface TurnCost {
  state: string;
  /** The number of answered model calls; the usage covers only these. */
  calls: number;
  read: number | null;
  cached: number | null;
  written: number | null;
  usd: number | null;
  ms: number | null;
}

/** The number of turns loaded. */
export const MAX_TURNS = 200;

/** The latest turns of a conversation by id; empty if the user may not see them. */
async function readTurns(conversation: string, signal: AbortSignal): Promise<Map<string, TurnCost>> {
  try {
    const { items } = await unwrap(
      api.GET("/api/v1/turns", { params: { query: { session: conversation, limit: MAX_TURNS } }, signal }),
    );
    return new Map(items.map((turn) => [turn.turn, costOf(turn)]));
  } catch (thrown) {
    const error = ApiError.of(thrown);
    // Participants who are not the owner may not see costs.
    if (error.status === 403 || error.status === 404) return NONE;
    throw error;
  }
}

function costOf(turn: Turn): TurnCost {
  return {
    state: turn.state,
    calls: turn.calls,
    read: turn.tokens_in,
    cached: turn.cache_read_tokens,
    written: turn.tokens_out,
    usd: turn.cost_usd ?? null,
    ms: turn.duration_ms ?? null,
  };
}

export function useTurnCosts(conversation: string | undefined): Map<string, TurnCost> {
  const mayObserve = useSession().scopes.includes("observe");
  return (
    useQuery(conversation && mayObserve ? conversation : null, (signal) => readTurns(conversation ?? "", signal))
      .value ?? NONE
  );
}

const NONE = new Map<string, TurnCost>();
