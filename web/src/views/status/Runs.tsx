// Workflow runs: their progress and, for failed ones, how to resume.
import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { api, unwrap } from "../../api/client";
import { usePages } from "../../api/pages";
import { useInterval } from "../../api/query";
import type { WorkflowRun } from "../../api/schema";
import { StateBadge } from "../../parts/badges";
import { CodeText } from "../../parts/code_text";
import { duration, Timestamp } from "../../parts/format";
import { PagedList } from "../../parts/list";
import { EmptyState } from "../../parts/states";
import { ResumeRun } from "./ResumeRun";
import { Steps } from "./Steps";
import { POLL_INTERVAL_MS } from "./server_status";

const PAGE_SIZE = 20;

export function Runs() {
  const pages = usePages<WorkflowRun>("runs", async (after, signal) => {
    const page = await unwrap(
      api.GET("/api/v1/workflows/runs", { params: { query: { limit: PAGE_SIZE, after } }, signal }),
    );
    return { items: page.items as WorkflowRun[], next: page.next };
  });
  useInterval(POLL_INTERVAL_MS, () => pages.items.length <= PAGE_SIZE && pages.refresh());
  const [open, setOpen] = useState<string>();
  return (
    <PagedList
      pages={pages}
      what="Workflow runs"
      empty={
        <EmptyState title="No workflow runs.">
          <p>
            Ask the agent to run one, or use <code>foreword workflows run NAME</code>. They are files in{" "}
            <code>workflows/</code>.
          </p>
        </EmptyState>
      }
    >
      {(runs) => (
        <div class="table as-cards">
          <table role="table">
            <thead role="rowgroup">
              <tr role="row">
                {["Workflow", "State", "Started", "Took"].map((name) => (
                  <th key={name} role="columnheader" scope="col" class={name === "Took" ? "number" : undefined}>
                    {name}
                  </th>
                ))}
                <th role="columnheader" scope="col">
                  <span class="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody role="rowgroup">
              {runs.map((run) => (
                <Fragment key={run.run}>
                  <RunRow
                    run={run}
                    open={open === run.run}
                    toggle={() => setOpen(open === run.run ? undefined : run.run)}
                    reload={pages.reload}
                  />
                  {open === run.run && (
                    <tr role="row" class="opened">
                      <td role="cell" colSpan={5} id={`steps-${run.run}`}>
                        <Steps run={run.run} state={run.state} />
                      </td>
                    </tr>
                  )}
                </Fragment>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </PagedList>
  );
}

function RunRow({
  run,
  open,
  toggle,
  reload,
}: {
  run: WorkflowRun;
  open: boolean;
  toggle: () => void;
  reload: () => void;
}) {
  const took = run.ended_at ? Date.parse(run.ended_at) - Date.parse(run.started_at) : null;
  return (
    <tr role="row">
      <th role="rowheader" scope="row" class="name wrap">
        {run.workflow}
        <span class="quiet line">{parameterText(run.parameters)}</span>
        {run.error && (
          <span class="line failed">
            <CodeText words={run.error} />
          </span>
        )}
      </th>
      <td role="cell">
        <StateBadge of={run.state} />
        {run.tainted && (
          <span class="quiet line" title="sensitive tools are refused after that">
            has read untrusted text
          </span>
        )}
      </td>
      <td role="cell" data-label="started">
        <Timestamp at={run.started_at} />
        {run.started_by && <span class="quiet line">by {run.started_by}</span>}
      </td>
      <td role="cell" class="number" data-label="took">
        {duration(took)}
      </td>
      <td role="cell" class="actions">
        <div>
          {run.state === "failed" && <ResumeRun run={run} reload={reload} />}
          <button
            type="button"
            aria-expanded={open}
            aria-controls={`steps-${run.run}`}
            onClick={toggle}
            aria-label={`Steps of ${run.workflow}, ${run.run}`}
          >
            Steps
          </button>
        </div>
      </td>
    </tr>
  );
}

function parameterText(parameters: unknown): string {
  if (typeof parameters !== "object" || parameters === null) return "";
  return Object.entries(parameters)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}
