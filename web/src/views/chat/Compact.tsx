// Makes a conversation shorter for the model: what was said so far is replaced by a summary. It takes a call, and may take a while.
import { useEffect, useState } from "preact/hooks";
import { Refusal, api, asked } from "../../api/client";
import { Dialog } from "../../parts/dialog";
import { money } from "../../parts/figures";
import { Told } from "../../parts/told";
import { toast } from "../../parts/toast";

/** How long the words about a summary stay beside the summary itself. */
const READ_MS = 2000;

/** `summaries`: how many the conversation shows. */
export function Compact({ conversation, disabled, summaries }: { conversation: string; disabled: boolean; summaries: number }) {
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const [told, setTold] = useState<{ before: number; dismiss: () => void }>();
  const there = told !== undefined && summaries > told.before;
  useEffect(() => {
    if (!there) return;
    const timer = setTimeout(() => told.dismiss(), READ_MS);
    return () => clearTimeout(timer);
  }, [there, told]);
  const compact = async () => {
    const before = summaries;
    setBusy(true);
    setRefusal(undefined);
    try {
      const done = await asked(api.POST("/api/v1/conversations/{id}/compact", { params: { path: { id: conversation } } }));
      const cost = done.cost === null || done.cost === undefined ? "" : ` It cost ${money(done.cost)}.`;
      setTold({ before, dismiss: toast(`A summary stands for ${done.removed} messages now.${cost}`) });
      setOpen(false);
    } catch (error) {
      setRefusal(Refusal.of(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button onClick={() => setOpen(true)} disabled={disabled} title="Replaces what the agent reads of this conversation by a summary.">Compact …</button>
      {open && (
        <Dialog title="Compact this conversation?" close={() => !busy && setOpen(false)}>
          <p>The agent writes a summary, and reads that from now on in place of what was said so far. Its prompt is made anew. Nothing is deleted: you still see everything here.</p>
          {refusal && <Told refusal={refusal} />}
          {busy && <p class="status" role="status"><span class="spinner" aria-hidden="true" /> Writing the summary …</p>}
          <div class="row">
            <button class="main" onClick={compact} disabled={busy}>{busy ? "One moment …" : "Compact"}</button>
            <button onClick={() => setOpen(false)} disabled={busy}>Leave it</button>
          </div>
        </Dialog>
      )}
    </>
  );
}
