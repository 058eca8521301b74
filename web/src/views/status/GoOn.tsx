// Goes on with a run that failed: does the step again, does it again although it may have had an effect, or leaves it out.
import { useState } from "preact/hooks";
import { Refusal, api, asked } from "../../api/client";
import type { ResumeHow, WorkflowRun } from "../../api/schema";
import { Dialog } from "../../parts/dialog";
import { Ticked } from "../../parts/ticked";
import { toast } from "../../parts/toast";
import { Busy, Told } from "../../parts/told";
import { useSession } from "../../shell/session";

const HOW: { how: ResumeHow; title: string; means: string }[] = [
  { how: "again", title: "Do the step again", means: "if that is safe: what only reads or asks is done again, what may have changed something is not." },
  { how: "redo", title: "Redo it, whatever it did", means: "for a step that was cut off and may have had an effect. Look first." },
  { how: "skip", title: "Go on without it", means: "its output is empty for the steps behind it." },
];

export function GoOn({ run, again }: { run: WorkflowRun; again: () => void }) {
  const { scopes } = useSession();
  const [open, setOpen] = useState(false);
  if (!scopes.includes("chat")) return null;
  return (
    <>
      <button onClick={() => setOpen(true)} aria-label={`Go on with ${run.workflow}, ${run.run}`}>Go on …</button>
      {open && <Choose run={run} close={() => setOpen(false)} again={again} />}
    </>
  );
}

function Choose({ run, close, again }: { run: WorkflowRun; close: () => void; again: () => void }) {
  const [how, setHow] = useState<ResumeHow>("again");
  const [force, setForce] = useState(false);
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const [failed, setFailed] = useState<string>();
  const go = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setRefusal(undefined);
    setFailed(undefined);
    try {
      const end = await asked(api.POST("/api/v1/workflows/runs/{id}/resume", { params: { path: { id: run.run } }, body: { how, force } }));
      again();
      if (end.outcome === "failed") return setFailed(end.error ?? "It failed again.");
      toast(`${run.workflow}: ${end.outcome}.`);
      close();
    } catch (error) {
      setRefusal(Refusal.of(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Go on with ${run.workflow}`} close={close}>
      {run.error && <p class="wrap"><Ticked words={run.error} /></p>}
      <form class="stack-of" onSubmit={go}>
        <fieldset class="ways" disabled={busy}>
          <legend>What about the step that failed?</legend>
          {HOW.map((one) => (
            <label key={one.how}><input type="radio" name="how" value={one.how} checked={how === one.how} onChange={() => setHow(one.how)} /> <span><strong>{one.title}</strong> <span class="quiet">{one.means}</span></span></label>
          ))}
          <label><input type="checkbox" checked={force} onChange={(event) => setForce(event.currentTarget.checked)} /> <span>Also if the workflow's file has changed in what is done already</span></label>
        </fieldset>
        {busy && <Busy what="It runs" />}
        {failed && <div class="told bad" role="alert"><p><strong>It failed again.</strong></p><p><Ticked words={failed} /></p></div>}
        {refusal && <Told refusal={refusal} />}
        <p class="row"><button class="main" disabled={busy}>Go on</button><button type="button" onClick={close}>{busy ? "Close; it goes on" : "Cancel"}</button></p>
      </form>
    </Dialog>
  );
}
