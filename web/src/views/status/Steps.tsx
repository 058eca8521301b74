// The steps of a run.

import { api, unwrap } from "../../api/client";
import { useQuery } from "../../api/query";
import type { WorkflowRunStep } from "../../api/schema";
import { StateBadge } from "../../parts/badges";
import { CodeText } from "../../parts/code_text";
import { duration } from "../../parts/format";
import { EmptyState, QueryResult } from "../../parts/states";
import { href } from "../../shell/router";

export function Steps({ run, state }: { run: string; state: string }) {
  const query = useQuery(`${run} ${state}`, (signal) =>
    unwrap(api.GET("/api/v1/workflows/runs/{id}", { params: { path: { id: run } }, signal })),
  );
  return (
    <QueryResult query={query} what="Steps">
      {(whole) => (
        <div class="steps">
          {whole.steps.length === 0 ? (
            <EmptyState title="No steps." />
          ) : (
            <ol>
              {(whole.steps as WorkflowRunStep[]).map((step) => (
                <Step key={step.number} step={step} />
              ))}
            </ol>
          )}
          <p>
            <a href={href("trace", [], { conversation: `workflow-${run}` })}>Its turns</a>{" "}
            <code class="quiet wrap">{run}</code>
          </p>
        </div>
      )}
    </QueryResult>
  );
}

function Step({ step }: { step: WorkflowRunStep }) {
  const took = step.ended_at ? Date.parse(step.ended_at) - Date.parse(step.started_at) : null;
  const done = step.skipped || (step.output !== null && step.output !== undefined);
  return (
    <li>
      <p class="row">
        <strong>{step.name}</strong>{" "}
        <StateBadge of={step.skipped ? "skipped" : done ? "done" : step.error ? "failed" : "running"} />{" "}
        <span class="quiet">
          {duration(took)}
          {step.attempts > 1 && `, try ${step.attempts}`}
        </span>
      </p>
      {step.error && (
        <p class="failed wrap">
          {done && "failed before: "}
          <CodeText words={step.error} />
        </p>
      )}
      {step.output && (
        <details>
          <summary>Output</summary>
          <pre>{step.output}</pre>
        </details>
      )}
    </li>
  );
}
