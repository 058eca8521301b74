// The editing state: the draft, the discarded text, and drafts set aside for another version.

import { normalizeLineEndings } from "../../parts/drafts";
import { useUndoDiscard } from "../../parts/undo_discard";
import { type Draft, type Stored, useDraft } from "../../parts/useDraft";
import { versionText } from "./requests";
import { useSetAside } from "./set_aside";

export interface EditingState {
  draft: Draft;
  /** Restores the discarded text, until the text changes. */
  undo: (() => void) | undefined;
  setAside: SetAsideDraft | undefined;
  /** Continues from the text of a version; the draft is set aside. */
  continueFrom: (version: number) => Promise<void>;
}

export interface SetAsideDraft {
  /** The version that replaced it. */
  since: number;
  restoreDraft: () => void;
  drop: () => void;
}

export function useTemplateDraft(stored: Stored): EditingState | undefined {
  const discarded = useUndoDiscard(useDraft("template", stored));
  const aside = useSetAside("template");
  if (!discarded) return undefined;
  const { draft, undo } = discarded;
  const continueFrom = async (version: number) => {
    const text = normalizeLineEndings(await versionText(version));
    aside.push(draft.dirty ? draft.text : undefined, { version, text });
    draft.change(text);
  };
  const restoreDraft = () => draft.change(aside.pop() ?? draft.text);
  return {
    draft,
    undo,
    setAside: aside.since === undefined ? undefined : { since: aside.since, restoreDraft, drop: aside.drop },
    continueFrom,
  };
}
