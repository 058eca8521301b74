// Two prompts side by side, aligned by layer: what is the same, what differs, what one of them lacks, and why.
import { many } from "../../parts/figures";
import type { Arranged } from "./arrange";
import { type Layer, isIn } from "./prompt";

export type Verdict = "same" | "differs" | "left" | "right";

export interface Pair {
  id: string;
  title: string;
  stability: string;
  a?: Layer;
  b?: Layer;
  verdict: Verdict;
  /** The verdict for people. */
  words: string;
}

/** Both as they are arranged in their stacks; a layer that has no part in either is left out. */
export function paired(a: Arranged, b: Arranged): Pair[] {
  const ids = a.rows.map((layer) => layer.id);
  b.rows.forEach((layer, at) => {
    if (ids.includes(layer.id)) return;
    const before = b.rows.slice(0, at).findLast((one) => ids.includes(one.id));
    ids.splice(before ? ids.indexOf(before.id) + 1 : 0, 0, layer.id);
  });
  return ids.map((id) => pair(find(a, id), find(b, id))).filter((one): one is Pair => one !== undefined);
}

/** Also where there is nothing of it, for the reason. */
function find({ rows, nothing }: Arranged, id: string): Layer | undefined {
  return [...rows, ...nothing].find((layer) => layer.id === id);
}

function pair(a: Layer | undefined, b: Layer | undefined): Pair | undefined {
  const one = a ?? b;
  if (!one || (!there(a) && !there(b))) return undefined;
  const base = { id: one.id, title: one.title, stability: one.stability, a, b };
  if (there(a) && !there(b)) return { ...base, verdict: "left", words: "only on the left" };
  if (!there(a)) return { ...base, verdict: "right", words: "only on the right" };
  if (a?.status === b?.status && a?.hash === b?.hash && a?.tokens === b?.tokens) return { ...base, verdict: "same", words: "the same" };
  return { ...base, verdict: "differs", words: difference(a as Layer, b as Layer) };
}

/** In the prompt, or at least in the menu. */
function there(layer: Layer | undefined): boolean {
  return isIn(layer) || layer?.status === "menu";
}

function difference(a: Layer, b: Layer): string {
  const by = b.tokens - a.tokens;
  if (by === 0) return "other words, as long";
  return by > 0 ? `${many(by, "token")} more` : `${many(-by, "token")} fewer`;
}

/** All of it in one sentence. */
export function counted(pairs: Pair[]): string {
  const count = (verdict: Verdict) => pairs.filter((pair) => pair.verdict === verdict).length;
  const said = [
    count("same") > 0 && `${count("same")} the same`,
    count("differs") > 0 && `${count("differs")} ${count("differs") === 1 ? "differs" : "differ"}`,
    count("left") > 0 && `${count("left")} only on the left`,
    count("right") > 0 && `${count("right")} only on the right`,
  ].filter(Boolean);
  return said.length > 0 ? `${said.join(", ")}.` : "There are no layers on either side.";
}
