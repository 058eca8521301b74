// Undo for discarded drafts, until the text changes again.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Draft } from "./useDraft";

export interface UndoableDraft {
  /** The same draft with an undoable `discard`. */
  draft: Draft;
  undo: (() => void) | undefined;
}

export function useUndoDiscard(draft: Draft | undefined): UndoableDraft | undefined {
  const [discarded, setDiscarded] = useState<{ text: string; base: number }>();
  useEffect(() => {
    if (draft?.dirty) setDiscarded(undefined);
  }, [draft?.dirty]);
  if (!draft) return undefined;
  const discard = () => {
    if (draft.dirty) setDiscarded({ text: draft.text, base: draft.base });
    draft.discard();
  };
  const undo = () => {
    if (!discarded) return;
    draft.change(discarded.text);
    // Restoring the base version brings back the edit-conflict warning, so that no other user's version is overwritten
    // unseen.
    draft.rebase(discarded.base);
    setDiscarded(undefined);
  };
  return { draft: { ...draft, discard }, undo: discarded && !draft.dirty ? undo : undefined };
}

/** The pressed button has disappeared, so the focus moves to "Undo". */
export function DiscardedNotice({ undo }: { undo: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus({ preventScroll: true }), []);
  return (
    <div class="callout" role="status">
      <p class="row">
        Discarded.{" "}
        <button type="button" ref={button} onClick={undo}>
          Undo
        </button>
      </p>
    </div>
  );
}
