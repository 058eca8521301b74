// Notices about the draft: restored, in conflict, or set aside.
import type { TemplateBody } from "../../api/schema";
import { Timestamp } from "../../parts/format";
import { DiscardedNotice } from "../../parts/undo_discard";
import type { EditingState } from "./useTemplateDraft";

export function Notices({
  editing,
  stored,
  showConflict,
}: {
  editing: EditingState;
  stored: TemplateBody;
  showConflict: () => void;
}) {
  const { draft, undo, setAside } = editing;
  return (
    <>
      {draft.conflict && (
        <div class="callout waiting" role="status">
          <p>
            {stored.author ?? "Someone else"} stored version {stored.version} since you started editing
            {draft.base > 0 ? ` from version ${draft.base}` : ""}. Your draft is kept.
          </p>
          <p class="row">
            <button type="button" onClick={showConflict}>
              Compare both
            </button>
            <button type="button" onClick={draft.discard}>
              Discard mine
            </button>
          </p>
        </div>
      )}
      {!draft.conflict && draft.restoredFrom && draft.dirty && (
        <div class="callout" role="status">
          <p>
            Restored your unsaved draft, last edited <Timestamp at={draft.restoredFrom} />. It exists only in this
            browser.
          </p>
          <p class="row">
            <button type="button" onClick={draft.discard}>
              Discard
            </button>
          </p>
        </div>
      )}
      {undo && <DiscardedNotice undo={undo} />}
      {setAside && (
        <div class="callout" role="status">
          <p>
            You continued from version {setAside.since}. Your previous draft is set aside in this browser; nothing is
            saved.
          </p>
          <p class="row">
            <button type="button" onClick={setAside.restoreDraft}>
              Restore my draft
            </button>
            <button type="button" onClick={setAside.drop}>
              Discard
            </button>
          </p>
        </div>
      )}
      {draft.notPersisted && (
        <p class="callout waiting" role="status">
          This browser cannot store your draft: save before you leave.
        </p>
      )}
    </>
  );
}
