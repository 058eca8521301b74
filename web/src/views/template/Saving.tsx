// The last question before a text is stored: why, and what it costs. Ctrl-S a second time answers it.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Asking } from "../../api/asking";
import { Refusal } from "../../api/client";
import type { StoredTemplate, TemplateImpact } from "../../api/schema";
import { overtaken } from "../../api/versions";
import { Dialog } from "../../parts/dialog";
import { onSaveKey } from "../../parts/save_key";
import { Told } from "../../parts/told";
import { Why } from "../../parts/why";
import { APPLIES, Cost } from "./Cost";

export interface SavingProps {
  title: string;
  action: string;
  message: string;
  changeMessage: (message: string) => void;
  cost: Asking<TemplateImpact>;
  store: (message: string) => Promise<StoredTemplate>;
  saved: (stored: StoredTemplate) => void;
  /** Somebody stored another version first. */
  overtaken: () => void;
  close: () => void;
}

export function Saving(props: SavingProps) {
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => onSaveKey(() => form.current?.requestSubmit()), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      props.saved(await props.store(props.message));
    } catch (error) {
      if (overtaken(error)) props.overtaken();
      else setRefusal(Refusal.of(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={props.title} close={props.close}>
      <form ref={form} class="stack-of" onSubmit={submit}>
        <Why value={props.message} change={props.changeMessage} first />
        <section aria-label="What saving would cost">
          <h3>What saving would cost</h3>
          <Cost asking={props.cost} />
        </section>
        <p><strong>{APPLIES}</strong></p>
        {refusal && <Told refusal={refusal} />}
        <div class="row">
          <button class="main" disabled={busy}>{busy ? "Saving …" : props.action}</button>
          <button type="button" onClick={props.close}>Cancel</button>
        </div>
      </form>
    </Dialog>
  );
}
