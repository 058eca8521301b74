// Compacts a conversation: replaces the messages so far by a summary. This takes a model call.
import { useEffect, useState } from "preact/hooks";
import { ApiError, api, unwrap } from "../../api/client";
import { Dialog } from "../../parts/dialog";
import { money } from "../../parts/format";
import { ErrorNotice } from "../../parts/states";
import { toast } from "../../parts/toast";

/** How long the confirmation stays visible next to the summary. */
const CONFIRMATION_MS = 2000;

/** `summaries` is the number of summaries in the conversation. */
export function Compact({
  conversation,
  disabled,
  summaries,
}: {
  conversation: string;
  disabled: boolean;
  summaries: number;
}) {
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const [confirmation, setConfirmation] = useState<{ before: number; dismiss: () => void }>();
  const summarised = confirmation !== undefined && summaries > confirmation.before;
  useEffect(() => {
    if (!summarised) return;
    const timer = setTimeout(() => confirmation.dismiss(), CONFIRMATION_MS);
    return () => clearTimeout(timer);
  }, [summarised, confirmation]);
  const compact = async () => {
    const before = summaries;
    setBusy(true);
    setError(undefined);
    try {
      const done = await unwrap(
        api.POST("/api/v1/conversations/{id}/compact", { params: { path: { id: conversation } } }),
      );
      const cost = done.cost === null || done.cost === undefined ? "" : ` It cost ${money(done.cost)}.`;
      setConfirmation({ before, dismiss: toast(`A summary replaces ${done.removed} messages.${cost}`) });
      setOpen(false);
    } catch (error) {
      setError(ApiError.of(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button
        type="button"
        onClick={() => setOpen(true)}
        disabled={disabled}
        title="Replaces the messages the agent reads by a summary."
      >
        Compact …
      </button>
      {open && (
        <Dialog title="Compact this conversation?" close={() => !busy && setOpen(false)}>
          <p>
            The agent writes a summary and reads it instead of the messages so far. Its prompt is rebuilt. No messages
            are deleted.
          </p>
          {error && <ErrorNotice error={error} />}
          {busy && (
            <p class="status" role="status">
              <span class="spinner" aria-hidden="true" /> Writing the summary …
            </p>
          )}
          <div class="row">
            <button type="button" class="main" onClick={compact} disabled={busy}>
              {busy ? "One moment …" : "Compact"}
            </button>
            <button type="button" onClick={() => setOpen(false)} disabled={busy}>
              Cancel
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
