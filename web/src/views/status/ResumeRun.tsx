// Resumes a failed run: retries the step, forces a retry despite possible side effects, or skips it.
import { useState } from "preact/hooks";
import { ApiError, api, unwrap } from "../../api/client";
import type { ResumeMode, WorkflowRun } from "../../api/schema";
import { CodeText } from "../../parts/code_text";
import { Dialog } from "../../parts/dialog";
import { ErrorNotice, Loading } from "../../parts/states";
import { toast } from "../../parts/toast";
import { useSession } from "../../shell/session";

const RESUME_MODES: { how: ResumeMode; title: string; means: string }[] = [
  {
    how: "again",
    title: "Retry the step",
    means: "if it is safe: steps that only read are retried, steps that may have side effects are not.",
  },
  {
    how: "redo",
    title: "Force a retry",
    means: "for an interrupted step that may have had side effects. Check first.",
  },
  { how: "skip", title: "Skip the step", means: "its output is empty for later steps." },
];

export function ResumeRun({ run, reload }: { run: WorkflowRun; reload: () => void }) {
  const { scopes } = useSession();
  const [open, setOpen] = useState(false);
  if (!scopes.includes("chat")) return null;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)} aria-label={`Resume ${run.workflow}, ${run.run}`}>
        Resume …
      </button>
      {open && <ResumeDialog run={run} close={() => setOpen(false)} reload={reload} />}
    </>
  );
}

function ResumeDialog({ run, close, reload }: { run: WorkflowRun; close: () => void; reload: () => void }) {
  const [how, setHow] = useState<ResumeMode>("again");
  const [force, setForce] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const [failed, setFailed] = useState<string>();
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    setFailed(undefined);
    try {
      const end = await unwrap(
        api.POST("/api/v1/workflows/runs/{id}/resume", { params: { path: { id: run.run } }, body: { how, force } }),
      );
      reload();
      if (end.outcome === "failed") return setFailed(end.error ?? "It failed again.");
      toast(`${run.workflow}: ${end.outcome}.`);
      close();
    } catch (error) {
      setError(ApiError.of(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Resume ${run.workflow}`} close={close}>
      {run.error && (
        <p class="wrap">
          <CodeText words={run.error} />
        </p>
      )}
      <form class="vertical-stack" onSubmit={submit}>
        <fieldset class="ways" disabled={busy}>
          <legend>How to handle the failed step?</legend>
          {RESUME_MODES.map((one) => (
            <label key={one.how}>
              <input
                type="radio"
                name="how"
                value={one.how}
                checked={how === one.how}
                onChange={() => setHow(one.how)}
              />{" "}
              <span>
                <strong>{one.title}</strong> <span class="quiet">{one.means}</span>
              </span>
            </label>
          ))}
          <label>
            <input type="checkbox" checked={force} onChange={(event) => setForce(event.currentTarget.checked)} />{" "}
            <span>Even if the workflow file changed in completed steps</span>
          </label>
        </fieldset>
        {busy && <Loading what="It runs" />}
        {failed && (
          <div class="callout bad" role="alert">
            <p>
              <strong>It failed again.</strong>
            </p>
            <p>
              <CodeText words={failed} />
            </p>
          </div>
        )}
        {error && <ErrorNotice error={error} />}
        <p class="row">
          <button type="submit" class="main" disabled={busy}>
            Resume
          </button>
          <button type="button" onClick={close}>
            {busy ? "Close; it keeps running" : "Cancel"}
          </button>
        </p>
      </form>
    </Dialog>
  );
}
