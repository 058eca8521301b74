// Asks before an old text becomes the newest version, and shows what that changes.
import { useState } from "preact/hooks";
import { Refusal } from "../../api/client";
import type { LayerBody, VersionBody } from "../../api/schema";
import { overtaken } from "../../api/versions";
import { Dialog } from "../../parts/dialog";
import { Diff } from "../../parts/editor/Diff";
import { toast } from "../../parts/toast";
import { Told } from "../../parts/told";
import { Why } from "../../parts/why";
import { type LayersOf, rollBack } from "./asks";
import { FROM_WHEN } from "./Edit";

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
  const [refusal, setRefusal] = useState<Refusal>();
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const written = await rollBack(of.agent, body.id, to.version, { message, expected: body.version ?? 0 });
      toast(written.stored ? `Layer ${body.id} has the text of version ${to.version} again, as version ${written.version}.` : "That is its text already.");
      done();
    } catch (error) {
      if (overtaken(error)) {
        toast("Somebody stored another version meanwhile: look again.", "bad");
        done();
      } else setRefusal(Refusal.of(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Roll layer ${body.id} back to version ${to.version}?`} close={close} wide>
      <form class="stack-of" onSubmit={submit}>
        <p>Its text becomes a new version; nothing is deleted. {FROM_WHEN}</p>
        <Diff before={body.content ?? ""} after={to.content} labels={[`Now: version ${body.version}`, `Then: version ${to.version}`]} />
        <Why value={message} change={setMessage} first />
        {refusal && <Told refusal={refusal} />}
        <div class="row"><button class="main" disabled={busy}>{busy ? "Rolling back …" : "Roll back"}</button><button type="button" onClick={close}>Cancel</button></div>
      </form>
    </Dialog>
  );
}
