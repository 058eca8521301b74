// Loads turns, newest first, page by page.
import { api, unwrap } from "../../api/client";
import type { Page } from "../../api/pages";
import type { Turn } from "../../api/schema";

export interface TurnQuery {
  session?: string;
  state?: string;
  user?: string;
  since?: string;
  until?: string;
  limit?: number;
  after?: string;
}

export function turnsOf(wanted: TurnQuery, signal: AbortSignal): Promise<Page<Turn>> {
  return unwrap(api.GET("/api/v1/turns", { params: { query: wanted }, signal }));
}
