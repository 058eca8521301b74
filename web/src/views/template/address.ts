// What of this view is in its address: which side of it is shown, what is compared, and the occasion of the preview.
import { type Occasion, type Occasions, occasionIn, occasionQuery } from "../../parts/occasion";
import { go, href } from "../../shell/router";

/** A version's number, or what is in the editor; 0 is what is in force while no version is stored. */
export type Side = number | "draft";

export interface Comparison {
  before: Side;
  after: Side;
  of: "source" | "rendered";
}

export interface Address {
  show: "write" | "versions";
  comparison: Comparison;
  occasion: Occasion;
}

/** What the address says; where it says nothing, what is most likely wanted: what I changed, or what was changed last. */
export function addressOf(query: URLSearchParams, agents: Occasions["agents"], version: number, dirty: boolean): Address {
  const likely: [Side, Side] = !dirty && version > 1 ? [version - 1, version] : [version, "draft"];
  const occasion = occasionIn(query);
  const uses = agents.some((agent) => agent.name === occasion.agent);
  return {
    show: query.get("show") === "versions" ? "versions" : "write",
    comparison: {
      before: sideOf(query.get("before")) ?? likely[0],
      after: sideOf(query.get("after")) ?? likely[1],
      of: query.get("of") === "rendered" ? "rendered" : "source",
    },
    occasion: { ...occasion, agent: uses ? occasion.agent : agents[0]?.name },
  };
}

function sideOf(word: string | null): Side | undefined {
  if (word === "draft") return "draft";
  const version = Number(word);
  return word && Number.isSafeInteger(version) && version >= 0 ? version : undefined;
}

export function addressed(address: Pick<Address, "show" | "occasion"> & { comparison?: Comparison }): string {
  const { show, comparison, occasion } = address;
  const compared = comparison && { before: String(comparison.before), after: String(comparison.after), of: comparison.of === "rendered" ? comparison.of : undefined };
  return href("template", [], { show: show === "versions" ? show : undefined, ...compared, ...occasionQuery(occasion) });
}

/** What the address says, and the way to change a part of it. */
export function moving(query: URLSearchParams, agents: Occasions["agents"], version: number, dirty: boolean): { address: Address; move: (to: Partial<Address>) => void } {
  const address = addressOf(query, agents, version, dirty);
  // What is compared stays in the address once somebody chose it; before, it follows what is most likely wanted.
  const chosen = query.has("before") || query.has("after") || query.has("of") ? { comparison: address.comparison } : {};
  return { address, move: (to) => go(addressed({ show: address.show, occasion: address.occasion, ...chosen, ...to }), "replace") };
}
