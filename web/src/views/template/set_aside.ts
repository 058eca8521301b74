// What was written before the text of another version took its place: kept in this browser until it is taken back or dropped.
import { useMemo, useState } from "preact/hooks";
import { Drafts } from "../../parts/drafts";
import { useSession } from "../../shell/session";

/** The texts that were set aside, the latest last, and what took the place of that one. */
export interface Pile {
  texts: string[];
  /** The version one went on from, and its text. */
  from: { version: number; text: string } | undefined;
}

export const EMPTY: Pile = { texts: [], from: undefined };

/** Somebody goes on from a version. `mine` is what they have written; a version's own text is not theirs. */
export function laidDown(pile: Pile, mine: string | undefined, from: { version: number; text: string }): Pile {
  const theirs = mine !== undefined && mine !== pile.from?.text;
  return { texts: theirs ? [...pile.texts, mine] : pile.texts, from };
}

/** What is left when the latest was taken back. */
export function takenUp(pile: Pile): Pile {
  return pile.texts.length > 1 ? { ...pile, texts: pile.texts.slice(0, -1) } : EMPTY;
}

export interface SetAside {
  /** The version that took its place; `undefined` if nothing is set aside. */
  since: number | undefined;
  /** For somebody who goes on from a version: see [`laidDown`]. */
  lay: (mine: string | undefined, from: { version: number; text: string }) => void;
  /** Gives the latest. */
  take: () => string | undefined;
  drop: () => void;
}

export function useSetAside(what: string): SetAside {
  const { user } = useSession();
  const drawer = useMemo(() => new Drafts(`${what} set aside`, user), [what, user]);
  const [pile, setPile] = useState(() => pileIn(drawer.newest()?.text));
  const put = (next: Pile) => {
    if (next.texts.length > 0) drawer.keep(0, JSON.stringify(next));
    else drawer.forget();
    setPile(next);
  };
  return {
    since: pile.texts.length > 0 ? pile.from?.version : undefined,
    lay: (mine, from) => put(laidDown(pile, mine, from)),
    take: () => {
      put(takenUp(pile));
      return pile.texts.at(-1);
    },
    drop: () => put(EMPTY),
  };
}

function pileIn(kept: string | undefined): Pile {
  try {
    const found = JSON.parse(kept ?? "") as Pile;
    return Array.isArray(found.texts) ? found : EMPTY;
  } catch {
    return EMPTY;
  }
}
