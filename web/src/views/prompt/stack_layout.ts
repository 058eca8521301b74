// The layout of a stack: order, heights and cache breakpoints. Does not render.
import type { Breakpoint } from "../../api/schema";
import { isIn, type Layer, type Prompt } from "./prompt";

/** Minimum height of a layer in pixels, to stay readable and clickable. */
export const MIN_HEIGHT = 32;
/** Target height of a stack, and the maximum height of a token. */
const STACK_HEIGHT = 560;
const MAX_PX_PER_TOKEN = 1.1;

const ORDER = ["static", "agent", "conversation", "turn"];

export interface StackLayout {
  /** The layers in prompt order, including withheld ones at their positions. */
  rows: Layer[];
  /** Absent and empty layers. */
  nothing: Layer[];
}

/**
 * Withheld layers come last in the response. `whole` is the same agent's prompt with more trust, which shows their
 * positions.
 */
export function arrange(layers: Layer[], ownerPrompt: Layer[] = []): StackLayout {
  const rows = layers.filter((layer) => isIn(layer) || layer.status === "menu");
  const nothing = layers.filter((layer) => layer.status === "absent" || layer.status === "empty");
  const places = ownerPrompt.filter((layer) => isIn(layer) || layer.status === "menu").map((layer) => layer.id);
  const withheld = layers.filter((layer) => layer.status === "withheld");
  const known = withheld
    .filter((layer) => places.includes(layer.id))
    .sort((a, b) => places.indexOf(a.id) - places.indexOf(b.id));
  for (const layer of known) rows.splice(insertPosition(rows, places, layer), 0, layer);
  for (const layer of withheld.filter((layer) => !places.includes(layer.id)))
    rows.splice(endOf(rows, layer.stability), 0, layer);
  return { rows, nothing };
}

/** Inserts the layer after its closest predecessor in `places`. */
function insertPosition(rows: Layer[], places: string[], layer: Layer): number {
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

/**
 * Pixels per token, so that the longest of the compared prompts fills the height. All compared prompts share one scale.
 */
export function scaleFor(totals: number[]): number {
  const most = Math.max(1, ...totals);
  return Math.min(MAX_PX_PER_TOKEN, STACK_HEIGHT / most);
}

export function heightOf(layer: Layer | undefined, scale: number): number {
  return layer && isIn(layer) ? Math.max(MIN_HEIGHT, Math.round(layer.tokens * scale)) : MIN_HEIGHT;
}

/** The height by tokens alone. Small layers get the minimum height, and a bar inside shows the true share. */
export function barHeight(layer: Layer, scale: number): number {
  return isIn(layer) ? Math.max(layer.tokens > 0 ? 2 : 0, Math.round(layer.tokens * scale)) : 0;
}

/** The cache breakpoint after a layer: the provider caches everything before it. */
export function breakpointsAfter(layers: Layer[], breakpoints: Breakpoint[] = []): Map<string, Breakpoint> {
  const found = new Map<string, Breakpoint>();
  for (const breakpoint of breakpoints) {
    const before = layers.filter((layer) => isIn(layer) && (layer.range[1] ?? 0) <= breakpoint.at).at(-1);
    if (before) found.set(before.id, breakpoint);
  }
  return found;
}

/** Token counts by stability, most stable first. */
export function shares(prompt: Prompt): { stability: string; tokens: number; layers: number }[] {
  return ORDER.map((stability) => {
    const of = prompt.layers.filter((layer) => isIn(layer) && layer.stability === stability);
    return { stability, tokens: of.reduce((sum, layer) => sum + layer.tokens, 0), layers: of.length };
  });
}
