// Deletes a conversation after a confirmation.
import { useState } from "preact/hooks";
import { ApiError, api, unwrap } from "../../api/client";
import type { ConversationBody } from "../../api/schema";
import { QuotedName } from "../../parts/conversation/ConversationName";
import { Dialog } from "../../parts/dialog";
import { ErrorNotice } from "../../parts/states";
import { toast } from "../../parts/toast";
import { href, navigate } from "../../shell/router";

export function DeleteConversation({ about }: { about: ConversationBody }) {
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const close = () => {
    setOpen(false);
    setError(undefined);
  };
  const remove = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await unwrap(api.DELETE("/api/v1/conversations/{id}", { params: { path: { id: about.id } } }));
      toast("Conversation deleted.");
      navigate(href("conversations"));
    } catch (error) {
      setError(ApiError.of(error));
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" class="danger" onClick={() => setOpen(true)}>
        Delete …
      </button>
      {open && (
        <Dialog title="Delete this conversation?" close={close}>
          <p class="wrap">
            The conversation <QuotedName of={about} /> is deleted with its messages, prompts and turns. This can't be
            undone.
          </p>
          {error && <ErrorNotice error={error} />}
          <div class="row">
            <button type="button" class="danger" onClick={remove} disabled={busy}>
              {busy ? "Deleting …" : "Delete"}
            </button>
            <button type="button" onClick={close} disabled={busy}>
              Cancel
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
