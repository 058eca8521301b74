// Aligns two prompts by layer and reports what is equal, different or missing, and why.
import { plural } from "../../parts/format";
import { isIn, type Layer } from "./prompt";
import type { StackLayout } from "./stack_layout";

export type Verdict = "same" | "differs" | "left" | "right";

export interface Pair {
  id: string;
  title: string;
  stability: string;
  a?: Layer;
  b?: Layer;
  verdict: Verdict;
  /** The result as text. */
  words: string;
}

/** The layers of both stacks; layers that neither prompt contains are left out. */
export function alignLayers(a: StackLayout, b: StackLayout): Pair[] {
  const ids = a.rows.map((layer) => layer.id);
  b.rows.forEach((layer, at) => {
    if (ids.includes(layer.id)) return;
    const before = b.rows.slice(0, at).findLast((one) => ids.includes(one.id));
    ids.splice(before ? ids.indexOf(before.id) + 1 : 0, 0, layer.id);
  });
  return ids.map((id) => pair(find(a, id), find(b, id))).filter((one): one is Pair => one !== undefined);
}

/** Includes absent layers, for their reasons. */
function find({ rows, nothing }: StackLayout, id: string): Layer | undefined {
  return [...rows, ...nothing].find((layer) => layer.id === id);
}

function pair(a: Layer | undefined, b: Layer | undefined): Pair | undefined {
  const one = a ?? b;
  if (!one || (!isPresent(a) && !isPresent(b))) return undefined;
  const base = { id: one.id, title: one.title, stability: one.stability, a, b };
  if (isPresent(a) && !isPresent(b)) return { ...base, verdict: "left", words: "only on the left" };
  if (!isPresent(a)) return { ...base, verdict: "right", words: "only on the right" };
  if (a?.status === b?.status && a?.hash === b?.hash && a?.tokens === b?.tokens)
    return { ...base, verdict: "same", words: "the same" };
  return { ...base, verdict: "differs", words: difference(a as Layer, b as Layer) };
}

/** Included in the prompt, or at least listed in the menu. */
function isPresent(layer: Layer | undefined): boolean {
  return isIn(layer) || layer?.status === "menu";
}

function difference(a: Layer, b: Layer): string {
  const by = b.tokens - a.tokens;
  if (by === 0) return "different text, same size";
  return by > 0 ? `${plural(by, "token")} more` : `${plural(-by, "token")} fewer`;
}

/** A summary in one sentence. */
export function summarise(pairs: Pair[]): string {
  const count = (verdict: Verdict) => pairs.filter((pair) => pair.verdict === verdict).length;
  const said = [
    count("same") > 0 && `${count("same")} the same`,
    count("differs") > 0 && `${count("differs")} ${count("differs") === 1 ? "differs" : "differ"}`,
    count("left") > 0 && `${count("left")} only on the left`,
    count("right") > 0 && `${count("right")} only on the right`,
  ].filter(Boolean);
  return said.length > 0 ? `${said.join(", ")}.` : "No layers on either side.";
}
