// Runs of workflows: how far they came, and for those that failed, ways to go on.
import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { useEvery } from "../../api/asking";
import { api, asked } from "../../api/client";
import { usePages } from "../../api/pages";
import type { WorkflowRun } from "../../api/schema";
import { When, duration } from "../../parts/figures";
import { Listed } from "../../parts/list";
import { State } from "../../parts/marks";
import { Ticked } from "../../parts/ticked";
import { Empty } from "../../parts/told";
import { GoOn } from "./GoOn";
import { Steps } from "./Steps";
import { EVERY_MS } from "./standing";

const AT_ONCE = 20;

export function Runs() {
  const pages = usePages<WorkflowRun>("runs", async (after, signal) => {
    const page = await asked(api.GET("/api/v1/workflows/runs", { params: { query: { limit: AT_ONCE, after } }, signal }));
    return { items: page.items as WorkflowRun[], next: page.next };
  });
  useEvery(EVERY_MS, () => pages.items.length <= AT_ONCE && pages.look());
  const [open, setOpen] = useState<string>();
  return (
    <Listed pages={pages} what="Workflow runs" empty={<Empty title="No workflow has run yet."><p>Ask the agent to run one, or use <code>foreword workflows run NAME</code>. They are files in <code>workflows/</code>.</p></Empty>}>
      {(runs) => (
        <div class="table as-cards">
          <table role="table">
            <thead role="rowgroup"><tr role="row">{["Workflow", "State", "Started", "Took"].map((name) => <th key={name} role="columnheader" scope="col" class={name === "Took" ? "number" : undefined}>{name}</th>)}<th role="columnheader" scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
            <tbody role="rowgroup">{runs.map((run) => (
              <Fragment key={run.run}>
                <RunRow run={run} open={open === run.run} toggle={() => setOpen(open === run.run ? undefined : run.run)} again={pages.again} />
                {open === run.run && <tr role="row" class="opened"><td role="cell" colSpan={5} id={`steps-${run.run}`}><Steps run={run.run} state={run.state} /></td></tr>}
              </Fragment>
            ))}</tbody>
          </table>
        </div>
      )}
    </Listed>
  );
}

function RunRow({ run, open, toggle, again }: { run: WorkflowRun; open: boolean; toggle: () => void; again: () => void }) {
  const took = run.ended_at ? Date.parse(run.ended_at) - Date.parse(run.started_at) : null;
  return (
    <tr role="row">
      <th role="rowheader" scope="row" class="name wrap">{run.workflow}<span class="quiet line">{parameterWords(run.parameters)}</span>{run.error && <span class="line failed"><Ticked words={run.error} /></span>}</th>
      <td role="cell"><State of={run.state} />{run.tainted && <span class="quiet line" title="sensitive tools are refused from there on">has read text from outside</span>}</td>
      <td role="cell" data-label="started"><When at={run.started_at} />{run.started_by && <span class="quiet line">by {run.started_by}</span>}</td>
      <td role="cell" class="number" data-label="took">{duration(took)}</td>
      <td role="cell" class="actions"><div>
        {run.state === "failed" && <GoOn run={run} again={again} />}
        <button aria-expanded={open} aria-controls={`steps-${run.run}`} onClick={toggle} aria-label={`Steps of ${run.workflow}, ${run.run}`}>Steps</button>
      </div></td>
    </tr>
  );
}

function parameterWords(parameters: unknown): string {
  if (typeof parameters !== "object" || parameters === null) return "";
  return Object.entries(parameters).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ");
}
