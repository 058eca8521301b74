// What is to be known about the text that is being written: that it was found again, that somebody was faster, what was set aside.
import type { TemplateBody } from "../../api/schema";
import { DiscardedNotice } from "../../parts/discarded";
import { When } from "../../parts/figures";
import type { Work } from "./work";

export function Notices({ work, stored, lookAtBoth }: { work: Work; stored: TemplateBody; lookAtBoth: () => void }) {
  const { draft, undo, setAside } = work;
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
      {undo && <DiscardedNotice undo={undo} />}
      {setAside && (
        <div class="told" role="status">
          <p>You went on from version {setAside.since}. What you had written before is set aside in this browser, and nothing is saved.</p>
          <p class="row"><button onClick={setAside.takeBack}>Back to what I had</button><button onClick={setAside.drop}>Drop it</button></p>
        </div>
      )}
      {draft.homeless && <p class="told waiting" role="status">This browser has no room to keep your words: save them before you leave.</p>}
    </>
  );
}
