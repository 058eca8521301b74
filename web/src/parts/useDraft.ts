// A text that is being written, beside the stored one it began from: kept in the browser until it is saved or discarded.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useSession } from "../shell/session";
import { Drafts, type Kept } from "./drafts";

/** What the server has now. Version 0 is "nothing is stored yet". */
export interface Stored {
  version: number;
  text: string;
}

export interface Draft {
  text: string;
  /** The version it was begun from. */
  base: number;
  /** It differs from what is stored. */
  dirty: boolean;
  /** Somebody stored another version since it was begun. */
  overtaken: boolean;
  /** When it was kept, if it was found again after a reload. */
  foundFrom: string | undefined;
  /** This browser would not keep it. */
  homeless: boolean;
  change: (text: string) => void;
  discard: () => void;
  /** From now on it replaces `version`. */
  rebase: (version: number) => void;
  /** What was sent is stored now, as the server keeps it. What was written since stays, and goes on from there. */
  saved: (sent: string, as: Stored) => void;
}

export interface State {
  text: string;
  base: number;
  /** What was stored when it was last looked at. */
  seen: string;
  foundFrom?: string;
  homeless: boolean;
  /** The version that we stored ourselves: it is no news when it comes. */
  ours?: number;
}

export function useDraft(what: string, stored: Stored | undefined): Draft | undefined {
  const { user } = useSession();
  const drafts = useMemo(() => new Drafts(what, user), [what, user]);
  const [state, setState] = useState<State>();
  const latest = useRef<State | undefined>(undefined);
  const put = (next: State) => {
    latest.current = next;
    setState(next);
  };
  useEffect(() => {
    if (!stored) return;
    const before = latest.current;
    const next = before ? followed(before, stored) : begun(drafts.newest(), stored);
    const moved = before !== undefined && before.base !== next.base;
    if (moved || next.text === stored.text) drafts.forget();
    if (moved && next.text !== stored.text) drafts.keep(next.base, next.text);
    put(next);
  }, [stored?.version, stored?.text, drafts]);
  if (!stored || !state) return undefined;
  const written = (text: string, base: number, more: Pick<State, "foundFrom" | "ours"> = {}) => {
    const same = text === stored.text;
    if (same) drafts.forget();
    const kept = same || drafts.keep(base, text);
    put({ text, base: same ? stored.version : base, seen: stored.text, homeless: !kept, foundFrom: same ? undefined : more.foundFrom, ours: more.ours });
  };
  const now = () => latest.current ?? state;
  return {
    text: state.text,
    base: state.base,
    dirty: state.text !== stored.text,
    overtaken: state.base !== stored.version && state.text !== stored.text,
    foundFrom: state.foundFrom,
    homeless: state.homeless,
    change: (text) => written(text, now().base, now()),
    discard: () => written(stored.text, stored.version),
    rebase: (version) => {
      drafts.forget();
      written(now().text, version);
    },
    saved: (sent, as) => {
      if (now().text === sent) written(as.text, now().base, now());
      put({ ...now(), ours: as.version });
    },
  };
}

/** What is shown first: unsaved work, if there is some. */
function begun(kept: Kept | undefined, stored: Stored): State {
  if (!kept || kept.text === stored.text) return { text: stored.text, base: stored.version, seen: stored.text, homeless: false };
  return { text: kept.text, base: kept.base, seen: stored.text, homeless: false, foundFrom: kept.at };
}

/** Something else is stored now: whoever had written nothing goes on from there, others keep their words. */
export function followed(before: State, stored: Stored): State {
  const { text, seen, ours, ...rest } = before;
  // Who saved, and meanwhile wrote what stood there before, has written something.
  const untouched = (text === seen && ours === undefined) || text === stored.text;
  if (untouched) return { text: stored.text, base: stored.version, seen: stored.text, homeless: false };
  return { ...rest, text, base: ours ?? before.base, seen: stored.text };
}
