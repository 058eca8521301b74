// What a run has done, step by step.
import { useAsking } from "../../api/asking";
import { api, asked } from "../../api/client";
import type { WorkflowRunStep } from "../../api/schema";
import { duration } from "../../parts/figures";
import { State } from "../../parts/marks";
import { Ticked } from "../../parts/ticked";
import { Answered, Empty } from "../../parts/told";
import { href } from "../../shell/router";

export function Steps({ run, state }: { run: string; state: string }) {
  const asking = useAsking(`${run} ${state}`, (signal) => asked(api.GET("/api/v1/workflows/runs/{id}", { params: { path: { id: run } }, signal })));
  return (
    <Answered asking={asking} what="Steps">{(whole) => (
      <div class="steps">
        {whole.steps.length === 0 ? <Empty title="No step was begun." /> : <ol>{(whole.steps as WorkflowRunStep[]).map((step) => <Step key={step.number} step={step} />)}</ol>}
        <p><a href={href("trace", [], { conversation: `workflow-${run}` })}>Its turns</a> <code class="quiet wrap">{run}</code></p>
      </div>
    )}</Answered>
  );
}

function Step({ step }: { step: WorkflowRunStep }) {
  const took = step.ended_at ? Date.parse(step.ended_at) - Date.parse(step.started_at) : null;
  const done = step.skipped || (step.output !== null && step.output !== undefined);
  return (
    <li>
      <p class="row"><strong>{step.name}</strong> <State of={step.skipped ? "skipped" : done ? "done" : step.error ? "failed" : "running"} /> <span class="quiet">{duration(took)}{step.attempts > 1 && `, try ${step.attempts}`}</span></p>
      {step.error && <p class="failed wrap">{done && "failed before: "}<Ticked words={step.error} /></p>}
      {step.output && <details><summary>What it gave</summary><pre>{step.output}</pre></details>}
    </li>
  );
}
