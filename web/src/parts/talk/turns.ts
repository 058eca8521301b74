// What the turns of a conversation took, as the record has it.
import { useAsking } from "../../api/asking";
import { Refusal } from "../../api/client";
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

interface Row {
  turn: string;
  state: string;
  calls: number;
  duration_ms?: number | null;
  tokens_in?: number | null;
  tokens_out?: number | null;
  cache_read_tokens?: number | null;
  cost_usd?: number | null;
}

/** The last turns of a conversation by their ids; none where they may not be seen. */
async function readTurns(conversation: string, signal: AbortSignal): Promise<Map<string, TurnCost>> {
  const response = await fetch(`/api/v1/turns?session=${encodeURIComponent(conversation)}&limit=200`, { signal }).catch((error: unknown) => {
    throw Refusal.of(error);
  });
  if (!response.ok) return new Map();
  const { items } = (await response.json()) as { items: Row[] };
  return new Map(items.map((row) => [row.turn, costOf(row)]));
}

function costOf(row: Row): TurnCost {
  return { state: row.state, calls: row.calls, read: row.tokens_in ?? null, cached: row.cache_read_tokens ?? null, written: row.tokens_out ?? null, usd: row.cost_usd ?? null, ms: row.duration_ms ?? null };
}

export function useTurnCosts(conversation: string | undefined): Map<string, TurnCost> {
  const looks = useSession().scopes.includes("observe");
  return useAsking(conversation && looks ? conversation : null, (signal) => readTurns(conversation ?? "", signal)).value ?? NONE;
}

const NONE = new Map<string, TurnCost>();
