// The turns there were, as the server lists them: newest first, a page at a time.
import { api, asked } from "../../api/client";
import type { Page } from "../../api/pages";
import type { Turn } from "../../api/schema";

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
  return asked(api.GET("/api/v1/turns", { params: { query: wanted }, signal }));
}
