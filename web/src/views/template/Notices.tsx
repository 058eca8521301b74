// What is to be known about the text that is being written: that it was found again, that somebody was faster.
import { useEffect, useRef } from "preact/hooks";
import type { TemplateBody } from "../../api/schema";
import { When } from "../../parts/figures";
import type { Draft } from "../../parts/useDraft";

export interface NoticesProps {
  draft: Draft;
  /** Brings back what was discarded, until something else is written. */
  undo: (() => void) | undefined;
  stored: TemplateBody;
  /** What was written before another version took its place. */
  setAside: { version: number; text: string } | undefined;
  takeBack: () => void;
  lookAtBoth: () => void;
}

export function Notices({ draft, undo, stored, setAside, takeBack, lookAtBoth }: NoticesProps) {
  return (
    <>
      {draft.overtaken && (
        <div class="told waiting" role="status">
          <p>{stored.author ?? "Somebody"} stored version {stored.version} since you began{draft.base > 0 ? ` from version ${draft.base}` : ""}. Your words are kept.</p>
          <p class="row"><button onClick={lookAtBoth}>Look at both</button><button onClick={draft.discard}>Discard mine</button></p>
        </div>
      )}
      {!draft.overtaken && draft.foundFrom && draft.dirty && (
        <div class="told" role="status">
          <p>Here is your unsaved work again, last touched <When at={draft.foundFrom} />. It is only in this browser.</p>
          <p class="row"><button onClick={draft.discard}>Discard it</button></p>
        </div>
      )}
      {undo && <Discarded undo={undo} />}
      {setAside && (
        <div class="told" role="status">
          <p>You went on from version {setAside.version}. What you had written before is set aside, and nothing is saved.</p>
          <p class="row"><button onClick={takeBack}>Back to what I had</button></p>
        </div>
      )}
      {draft.homeless && <p class="told waiting" role="status">This browser has no room to keep your words: save them before you leave.</p>}
    </>
  );
}

/** The button that was pressed is gone: whoever uses the keyboard goes on at the way back. */
function Discarded({ undo }: { undo: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus({ preventScroll: true }), []);
  return (
    <div class="told" role="status">
      <p class="row">Discarded. <button ref={button} onClick={undo}>Undo</button></p>
    </div>
  );
}
