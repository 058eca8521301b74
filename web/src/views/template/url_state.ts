// The URL parameters of this view: the tab, the compared versions, and the occasion of the preview.
import { type Occasion, type Occasions, occasionIn, occasionQuery } from "../../parts/occasion";
import { href, navigate } from "../../shell/router";

/** A version number or the draft; 0 is the text in force while no version is stored. */
export type Side = number | "draft";

export interface Comparison {
  before: Side;
  after: Side;
  of: "source" | "rendered";
}

export interface UrlState {
  show: "write" | "versions";
  comparison: Comparison;
  occasion: Occasion;
}

/** The compared versions from the URL, or a default: the draft against its base, or the latest change. */
export function parseUrl(
  query: URLSearchParams,
  agents: Occasions["agents"],
  version: number,
  dirty: boolean,
): UrlState {
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

export function urlOf(urlState: Pick<UrlState, "show" | "occasion"> & { comparison?: Comparison }): string {
  const { show, comparison, occasion } = urlState;
  const compared = comparison && {
    before: String(comparison.before),
    after: String(comparison.after),
    of: comparison.of === "rendered" ? comparison.of : undefined,
  };
  return href("template", [], {
    show: show === "versions" ? show : undefined,
    ...compared,
    ...occasionQuery(occasion),
  });
}

/** The parsed URL and a function to change it. */
export function useUrlState(
  query: URLSearchParams,
  agents: Occasions["agents"],
  version: number,
  dirty: boolean,
): { urlState: UrlState; move: (to: Partial<UrlState>) => void } {
  const urlState = parseUrl(query, agents, version, dirty);
  // A chosen comparison stays in the URL; the default is not written there.
  const chosen =
    query.has("before") || query.has("after") || query.has("of") ? { comparison: urlState.comparison } : {};
  return {
    urlState,
    move: (to) => navigate(urlOf({ show: urlState.show, occasion: urlState.occasion, ...chosen, ...to }), "replace"),
  };
}
