// The edit-conflict dialog: shows both texts and the ways to resolve the conflict. The user's own text is kept until
// they decide.
import type { ComponentChildren } from "preact";
import { Dialog } from "./dialog";
import { Diff } from "./editor/Diff";

export interface EditConflictProps {
  stored: { version: number; text: string; by: string | null | undefined };
  own: string;
  /** Saves the user's text over the stored version. */
  overwrite: () => void;
  discardMine: () => void;
  keepEditing: () => void;
  busy: boolean;
  /** Further form fields, such as the reason. */
  children?: ComponentChildren;
}

export function EditConflict({ stored, own, overwrite, discardMine, keepEditing, busy, children }: EditConflictProps) {
  const author = stored.by ?? "Someone else";
  return (
    <Dialog title="Edit conflict" close={keepEditing} wide>
      <p>
        {author} stored version {stored.version} while you were editing. Your text is not saved, but it is kept.
      </p>
      <Diff before={stored.text} after={own} labels={[`Theirs: version ${stored.version}`, "Yours, not saved"]} />
      {children}
      <div class="row">
        <button type="button" class="main" onClick={overwrite} disabled={busy}>
          {busy ? "Saving …" : `Save mine over version ${stored.version}`}
        </button>
        <button type="button" onClick={keepEditing}>
          Keep editing
        </button>
        <button type="button" class="danger" onClick={discardMine}>
          Discard mine, use theirs
        </button>
      </div>
    </Dialog>
  );
}
