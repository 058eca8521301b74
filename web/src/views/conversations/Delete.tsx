// Deletes a conversation with everything in it, once somebody has said that they mean it.
import { useState } from "preact/hooks";
import { Refusal, api, asked } from "../../api/client";
import type { ConversationBody } from "../../api/schema";
import { Quoted } from "../../parts/conversation/Name";
import { Dialog } from "../../parts/dialog";
import { Told } from "../../parts/told";
import { toast } from "../../parts/toast";
import { go, href } from "../../shell/router";

export function Delete({ about }: { about: ConversationBody }) {
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const close = () => {
    setOpen(false);
    setRefusal(undefined);
  };
  const remove = async () => {
    setBusy(true);
    setRefusal(undefined);
    try {
      await asked(api.DELETE("/api/v1/conversations/{id}", { params: { path: { id: about.id } } }));
      toast("The conversation is deleted.");
      go(href("conversations"));
    } catch (error) {
      setRefusal(Refusal.of(error));
      setBusy(false);
    }
  };
  return (
    <>
      <button class="danger" onClick={() => setOpen(true)}>Delete …</button>
      {open && (
        <Dialog title="Delete this conversation?" close={close}>
          <p class="wrap">The conversation <Quoted of={about} /> goes with everything that was said in it, its prompts and its turns. This can't be undone.</p>
          {refusal && <Told refusal={refusal} />}
          <div class="row">
            <button class="danger" onClick={remove} disabled={busy}>{busy ? "Deleting …" : "Delete it"}</button>
            <button onClick={close} disabled={busy}>Keep it</button>
          </div>
        </Dialog>
      )}
    </>
  );
}
