// Words that were discarded, and the way back to them until something else is written.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Draft } from "./useDraft";

export interface Discarded {
  /** The same draft, but what it discards can be brought back. */
  draft: Draft;
  undo: (() => void) | undefined;
}

export function useDiscarded(draft: Draft | undefined): Discarded | undefined {
  const [gone, setGone] = useState<{ text: string; base: number }>();
  useEffect(() => {
    if (draft?.dirty) setGone(undefined);
  }, [draft?.dirty]);
  if (!draft) return undefined;
  const discard = () => {
    if (draft.dirty) setGone({ text: draft.text, base: draft.base });
    draft.discard();
  };
  const undo = () => {
    if (!gone) return;
    draft.change(gone.text);
    // If somebody stored another version, that is said again, and nothing of theirs is overwritten unseen.
    draft.rebase(gone.base);
    setGone(undefined);
  };
  return { draft: { ...draft, discard }, undo: gone && !draft.dirty ? undo : undefined };
}

/** The button that was pressed is gone: whoever uses the keyboard goes on at the way back. */
export function DiscardedNotice({ undo }: { undo: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus({ preventScroll: true }), []);
  return (
    <div class="told" role="status">
      <p class="row">Discarded. <button ref={button} onClick={undo}>Undo</button></p>
    </div>
  );
}
