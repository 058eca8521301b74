// Drafts that were replaced by the text of a version, kept in the browser until they are restored or dropped.
import { useMemo, useState } from "preact/hooks";
import { Drafts } from "../../parts/drafts";
import { useSession } from "../../shell/session";

/** The set-aside drafts, latest last, and what replaced the latest. */
export interface DraftStack {
  texts: string[];
  /** The version that replaced it, and its text. */
  from: { version: number; text: string } | undefined;
}

export const EMPTY: DraftStack = { texts: [], from: undefined };

/** Sets `mine` aside when the user continues from a version; an unchanged version text is not kept. */
export function pushDraft(
  stack: DraftStack,
  mine: string | undefined,
  from: { version: number; text: string },
): DraftStack {
  const theirs = mine !== undefined && mine !== stack.from?.text;
  return { texts: theirs ? [...stack.texts, mine] : stack.texts, from };
}

/** The state after restoring the latest draft. */
export function popDraft(stack: DraftStack): DraftStack {
  return stack.texts.length > 1 ? { ...stack, texts: stack.texts.slice(0, -1) } : EMPTY;
}

export interface SetAside {
  /** The version that replaced the draft; `undefined` if nothing is set aside. */
  since: number | undefined;
  /** Continues from a version: see [`setAside`]. */
  push: (mine: string | undefined, from: { version: number; text: string }) => void;
  /** Restores the latest draft. */
  pop: () => string | undefined;
  drop: () => void;
}

export function useSetAside(what: string): SetAside {
  const { user } = useSession();
  const drafts = useMemo(() => new Drafts(`${what} set aside`, user), [what, user]);
  const [stack, setStack] = useState(() => parseStack(drafts.newest()?.text));
  const put = (next: DraftStack) => {
    if (next.texts.length > 0) drafts.save(0, JSON.stringify(next));
    else drafts.clear();
    setStack(next);
  };
  return {
    since: stack.texts.length > 0 ? stack.from?.version : undefined,
    push: (mine, from) => put(pushDraft(stack, mine, from)),
    pop: () => {
      put(popDraft(stack));
      return stack.texts.at(-1);
    },
    drop: () => put(EMPTY),
  };
}

function parseStack(kept: string | undefined): DraftStack {
  try {
    const found = JSON.parse(kept ?? "") as DraftStack;
    return Array.isArray(found.texts) ? found : EMPTY;
  } catch {
    return EMPTY;
  }
}
