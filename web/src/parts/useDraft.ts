// A draft next to the stored version it is based on, kept in the browser until it is saved or discarded.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useSession } from "../shell/session";
import { Drafts, type SavedDraft } from "./drafts";

/** The stored version. Version 0 means that nothing is stored yet. */
export interface Stored {
  version: number;
  text: string;
}

export interface Draft {
  text: string;
  /** The version it is based on. */
  base: number;
  /** Whether it differs from the stored text. */
  dirty: boolean;
  /** Whether another version was stored since it was started. */
  conflict: boolean;
  /** When it was written, if it was restored after a reload. */
  restoredFrom: string | undefined;
  /** Whether the browser refused to store it. */
  notPersisted: boolean;
  change: (text: string) => void;
  discard: () => void;
  /** Makes `version` the version to replace. */
  rebase: (version: number) => void;
  /** Marks `sent` as stored. Later edits stay and are based on the new version. */
  saved: (sent: string, as: Stored) => void;
}

export interface State {
  text: string;
  base: number;
  /** The stored text when it was last read. */
  lastStored: string;
  restoredFrom?: string;
  notPersisted: boolean;
  /** The version we saved ourselves, which is not a conflict. */
  savedVersion?: number;
}

export function useDraft(what: string, stored: Stored | undefined): Draft | undefined {
  const { user } = useSession();
  const drafts = useMemo(() => new Drafts(what, user), [what, user]);
  const [state, setState] = useState<State>();
  const latest = useRef<State | undefined>(undefined);
  const setBoth = (next: State) => {
    latest.current = next;
    setState(next);
  };
  useEffect(() => {
    if (!stored) return;
    const before = latest.current;
    const next = before ? withStored(before, stored) : initialState(drafts.newest(), stored);
    const rebased = before !== undefined && before.base !== next.base;
    if (rebased || next.text === stored.text) drafts.clear();
    if (rebased && next.text !== stored.text) drafts.save(next.base, next.text);
    setBoth(next);
  }, [stored?.version, stored?.text, drafts]);
  if (!stored || !state) return undefined;
  const update = (text: string, base: number, more: Pick<State, "restoredFrom" | "savedVersion"> = {}) => {
    const same = text === stored.text;
    if (same) drafts.clear();
    const kept = same || drafts.save(base, text);
    setBoth({
      text,
      base: same ? stored.version : base,
      lastStored: stored.text,
      notPersisted: !kept,
      restoredFrom: same ? undefined : more.restoredFrom,
      savedVersion: more.savedVersion,
    });
  };
  const now = () => latest.current ?? state;
  return {
    text: state.text,
    base: state.base,
    dirty: state.text !== stored.text,
    conflict: state.base !== stored.version && state.text !== stored.text,
    restoredFrom: state.restoredFrom,
    notPersisted: state.notPersisted,
    change: (text) => update(text, now().base, now()),
    discard: () => update(stored.text, stored.version),
    rebase: (version) => {
      drafts.clear();
      update(now().text, version);
    },
    saved: (sent, as) => {
      if (now().text === sent) update(as.text, now().base, now());
      setBoth({ ...now(), savedVersion: as.version });
    },
  };
}

/** The initial state: a restored draft, if there is one. */
function initialState(kept: SavedDraft | undefined, stored: Stored): State {
  if (!kept || kept.text === stored.text)
    return { text: stored.text, base: stored.version, lastStored: stored.text, notPersisted: false };
  return { text: kept.text, base: kept.base, lastStored: stored.text, notPersisted: false, restoredFrom: kept.at };
}

/** Handles a newly stored version: an unchanged draft follows it, a changed one keeps its text. */
export function withStored(before: State, stored: Stored): State {
  const { text, lastStored, savedVersion, ...rest } = before;
  // After a save, text that equals the old stored version counts as an edit.
  const untouched = (text === lastStored && savedVersion === undefined) || text === stored.text;
  if (untouched) return { text: stored.text, base: stored.version, lastStored: stored.text, notPersisted: false };
  return { ...rest, text, base: savedVersion ?? before.base, lastStored: stored.text };
}
