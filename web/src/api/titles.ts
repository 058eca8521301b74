// What conversations are called: asked once a minute at most, for every view that has only their ids.
import { type Asking, useAsking } from "./asking";
import { api, asked } from "./client";

export interface Titled {
  id: string;
  title?: string | null;
  last_activity_at?: string | null;
}

/** More than anybody picks from a list; what is older is called by its id. */
const AT_MOST = 500;
const FRESH_MS = 60_000;
let kept: { at: number; titles: Promise<Titled[]> } | undefined;

function titles(): Promise<Titled[]> {
  if (!kept || Date.now() - kept.at > FRESH_MS) {
    const asking = asked(api.GET("/api/v1/conversations", { params: { query: { limit: AT_MOST } } })).then((page) => page.items as Titled[]);
    asking.catch(() => (kept = undefined));
    kept = { at: Date.now(), titles: asking };
  }
  return kept.titles;
}

/** The conversations that may be seen, the last one active first, and the title of any of them. */
export function useTitles(): { all: Titled[]; titleOf: (id: string) => string | undefined; asking: Asking<Titled[]> } {
  const asking = useAsking("titles", titles);
  const all = asking.value ?? [];
  return { all, titleOf: (id) => all.find((one) => one.id === id)?.title ?? undefined, asking };
}
