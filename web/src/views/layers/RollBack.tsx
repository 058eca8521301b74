// Confirms a rollback and shows its diff.
import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import type { LayerBody, VersionBody } from "../../api/schema";
import { isConflict } from "../../api/versions";
import { Dialog } from "../../parts/dialog";
import { Diff } from "../../parts/editor/Diff";
import { ReasonField } from "../../parts/reason_field";
import { ErrorNotice } from "../../parts/states";
import { toast } from "../../parts/toast";
import { WARNING_SHARE } from "./LayerEditor";
import { type LayersOf, rollBack } from "./requests";

export interface RollBackProps {
  of: LayersOf;
  body: LayerBody;
  to: VersionBody;
  close: () => void;
  done: () => void;
}

export function RollBack({ of, body, to, close, done }: RollBackProps) {
  const [message, setMessage] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const written = await rollBack(of.agent, body.id, to.version, { message, expected: body.version ?? 0 });
      toast(
        written.stored
          ? `Layer ${body.id} rolled back to version ${to.version}, stored as version ${written.version}.`
          : "No change: this is the current text.",
      );
      done();
    } catch (error) {
      if (isConflict(error)) {
        toast("Another version was stored in the meantime. Check it first.", "bad");
        done();
      } else setError(ApiError.of(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Roll layer ${body.id} back to version ${to.version}?`} close={close} wide>
      <form class="vertical-stack" onSubmit={submit}>
        <p>Its text becomes a new version; nothing is deleted. {WARNING_SHARE}</p>
        <Diff
          before={body.content ?? ""}
          after={to.content}
          labels={[`Now: version ${body.version}`, `Then: version ${to.version}`]}
        />
        <ReasonField value={message} change={setMessage} first />
        {error && <ErrorNotice error={error} />}
        <div class="row">
          <button type="submit" class="main" disabled={busy}>
            {busy ? "Rolling back …" : "Roll back"}
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
