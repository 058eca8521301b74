// The save dialog: asks for a reason and shows the cost. A second Ctrl-S confirms it.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import type { Query } from "../../api/query";
import type { StoredTemplate, TemplateImpact } from "../../api/schema";
import { isConflict } from "../../api/versions";
import { Dialog } from "../../parts/dialog";
import { ReasonField } from "../../parts/reason_field";
import { onSaveKey } from "../../parts/save_key";
import { ErrorNotice } from "../../parts/states";
import { APPLIES, SaveCost } from "./SaveCost";

export interface SaveDialogProps {
  title: string;
  action: string;
  message: string;
  changeMessage: (message: string) => void;
  cost: Query<TemplateImpact>;
  store: (message: string) => Promise<StoredTemplate>;
  saved: (stored: StoredTemplate) => void;
  /** Another version was stored first. */
  conflict: () => void;
  close: () => void;
}

export function SaveDialog(props: SaveDialogProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => onSaveKey(() => form.current?.requestSubmit()), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      props.saved(await props.store(props.message));
    } catch (error) {
      if (isConflict(error)) props.conflict();
      else setError(ApiError.of(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={props.title} close={props.close}>
      <form ref={form} class="vertical-stack" onSubmit={submit}>
        <ReasonField value={props.message} change={props.changeMessage} first />
        <section aria-label="Cost of saving">
          <h3>Cost of saving</h3>
          <SaveCost query={props.cost} />
        </section>
        <p>
          <strong>{APPLIES}</strong>
        </p>
        {error && <ErrorNotice error={error} />}
        <div class="row">
          <button type="submit" class="main" disabled={busy}>
            {busy ? "Saving …" : props.action}
          </button>
          <button type="button" onClick={props.close}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
