// The turns there were, as the server lists them: newest first, a page at a time.
import { api, asked } from "../../api/client";
import type { Page } from "../../api/pages";

export interface Turn {
  turn: string;
  session_id: string;
  title?: string | null;
  user?: string | null;
  agent?: string | null;
  trust?: string | null;
  state: string;
  started_at: string;
  ended_at?: string | null;
  duration_ms?: number | null;
  error?: string | null;
  calls: number;
  failed_calls: number;
  tool_calls?: number | null;
  tokens_in: number;
  tokens_out: number;
  cache_read_tokens?: number | null;
  cost_usd?: number | null;
  model?: string | null;
}

export interface Wanted {
  session?: string;
  state?: string;
  user?: string;
  since?: string;
  until?: string;
  limit?: number;
  after?: string;
}

export function turnsOf(wanted: Wanted, signal: AbortSignal): Promise<Page<Turn>> {
  return asked(api.GET("/api/v1/turns" as never, { params: { query: wanted }, signal } as never)) as Promise<Page<Turn>>;
}
