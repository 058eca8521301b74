// The layout of a stack: what stands where, how thick it is, and where the cache breakpoints go. Draws nothing.
import type { Breakpoint } from "../../api/schema";
import { type Layer, type Prompt, isIn } from "./prompt";

/** No layer is thinner: it has to be read and hit. In pixels. */
export const LEAST = 32;
/** How high a stack is meant to be, and the most a token may take. */
const ROOM = 560;
const MOST_PER_TOKEN = 1.1;

const ORDER = ["static", "agent", "conversation", "turn"];

export interface Arranged {
  /** What the model reads, in its order, with the withheld ones where they would stand. */
  rows: Layer[];
  /** Those that there is nothing of: absent and empty. */
  nothing: Layer[];
}

/**
 * Withheld layers come last in the server's answer. `whole` is the same agent's prompt for somebody who sees more: it tells
 * where they would stand.
 */
export function arranged(layers: Layer[], whole: Layer[] = []): Arranged {
  const rows = layers.filter((layer) => isIn(layer) || layer.status === "menu");
  const nothing = layers.filter((layer) => layer.status === "absent" || layer.status === "empty");
  const places = whole.filter((layer) => isIn(layer) || layer.status === "menu").map((layer) => layer.id);
  const withheld = layers.filter((layer) => layer.status === "withheld");
  const known = withheld.filter((layer) => places.includes(layer.id)).sort((a, b) => places.indexOf(a.id) - places.indexOf(b.id));
  for (const layer of known) rows.splice(behind(rows, places, layer), 0, layer);
  for (const layer of withheld.filter((layer) => !places.includes(layer.id))) rows.splice(endOf(rows, layer.stability), 0, layer);
  return { rows, nothing };
}

/** Behind the nearest layer that stands before it in `places`; what comes first there comes first here. */
function behind(rows: Layer[], places: string[], layer: Layer): number {
  for (let at = places.indexOf(layer.id) - 1; at >= 0; at--) {
    const found = rows.findIndex((row) => row.id === places[at]);
    if (found >= 0) return found + 1;
  }
  return 0;
}

function endOf(rows: Layer[], stability: string): number {
  const less = rows.findIndex((row) => ORDER.indexOf(row.stability) > ORDER.indexOf(stability));
  return less < 0 ? rows.length : less;
}

/** Pixels for each token, so that the heaviest of these prompts fills the room. One scale for all that are compared. */
export function scaleFor(totals: number[]): number {
  const most = Math.max(1, ...totals);
  return Math.min(MOST_PER_TOKEN, ROOM / most);
}

export function thickness(layer: Layer | undefined, scale: number): number {
  return layer && isIn(layer) ? Math.max(LEAST, Math.round(layer.tokens * scale)) : LEAST;
}

/** How high its tokens alone would be: small layers get a line all the same, and a bar inside it tells the truth. */
export function barHeight(layer: Layer, scale: number): number {
  return isIn(layer) ? Math.max(layer.tokens > 0 ? 2 : 0, Math.round(layer.tokens * scale)) : 0;
}

/** The breakpoint behind a layer: the provider keeps everything up to there. */
export function breakpointsBehind(layers: Layer[], breakpoints: Breakpoint[] = []): Map<string, Breakpoint> {
  const found = new Map<string, Breakpoint>();
  for (const breakpoint of breakpoints) {
    const before = layers.filter((layer) => isIn(layer) && (layer.range[1] ?? 0) <= breakpoint.at).at(-1);
    if (before) found.set(before.id, breakpoint);
  }
  return found;
}

/** What each stability weighs, from the longest kept to the shortest. */
export function shares(prompt: Prompt): { stability: string; tokens: number; layers: number }[] {
  return ORDER.map((stability) => {
    const of = prompt.layers.filter((layer) => isIn(layer) && layer.stability === stability);
    return { stability, tokens: of.reduce((sum, layer) => sum + layer.tokens, 0), layers: of.length };
  });
}
