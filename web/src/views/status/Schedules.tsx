// What runs by the clock: when next, how it went last, and running it now.
import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { useAsking, useEvery } from "../../api/asking";
import { Refusal, api, asked } from "../../api/client";
import type { Firing, Schedule } from "../../api/schema";
import { When, count } from "../../parts/figures";
import { State } from "../../parts/marks";
import { Ticked } from "../../parts/ticked";
import { toast } from "../../parts/toast";
import { Answered, Empty } from "../../parts/told";
import { useSession } from "../../shell/session";
import { FiringEnd, History } from "./History";
import { EVERY_MS } from "./standing";

export function Schedules() {
  const asking = useAsking("schedules", (signal) => asked(api.GET("/api/v1/schedules", { signal })));
  useEvery(EVERY_MS, () => !asking.busy && asking.again());
  const [open, setOpen] = useState<string>();
  return (
    <Answered asking={asking} what="Schedules">{({ schedules }) => schedules.length === 0 ? (
      <Empty title="Nothing runs by the clock."><p>Section <code>schedules</code> of foreword.yaml has what the agent does by itself, such as a summary every morning.</p></Empty>
    ) : (
      <div class="table as-cards">
        <table role="table">
          <thead role="rowgroup"><tr role="row">{["Schedule", "When", "Next", "Last"].map((name) => <th key={name} role="columnheader" scope="col">{name}</th>)}<th role="columnheader" scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
          <tbody role="rowgroup">{schedules.map((schedule) => (
            <Fragment key={schedule.name}>
              <ScheduleRow schedule={schedule as Schedule} open={open === schedule.name} toggle={() => setOpen(open === schedule.name ? undefined : schedule.name)} again={asking.again} />
              {open === schedule.name && <tr role="row" class="opened"><td role="cell" colSpan={5} id={`history-${schedule.name}`}><History name={schedule.name} /></td></tr>}
            </Fragment>
          ))}</tbody>
        </table>
      </div>
    )}</Answered>
  );
}

function ScheduleRow({ schedule, open, toggle, again }: { schedule: Schedule; open: boolean; toggle: () => void; again: () => void }) {
  return (
    <tr role="row">
      <th role="rowheader" scope="row" class="name wrap">{schedule.name}<span class="quiet line">{schedule.action} for {schedule.user}</span></th>
      <td role="cell">{schedule.when}<span class="quiet line">{schedule.time_zone} <code>{schedule.cron}</code></span></td>
      <td role="cell" data-label="next">{schedule.enabled ? <When at={schedule.next_fire_at} /> : <span class="quiet">switched off</span>}{schedule.enabled && schedule.next_fire_at && <span class="quiet line"><When at={schedule.next_fire_at} as="full" /></span>}</td>
      <td role="cell" class="last">{schedule.last ? <FiringEnd firing={schedule.last as Firing} /> : <span class="quiet">has not run yet</span>}{schedule.consecutive_failures > 1 && <span class="line failed">failed {count(schedule.consecutive_failures)} times in a row</span>}</td>
      <td role="cell" class="actions"><div><RunNow name={schedule.name} again={again} /><button aria-expanded={open} aria-controls={`history-${schedule.name}`} onClick={toggle} aria-label={`History of ${schedule.name}`}>History</button></div></td>
    </tr>
  );
}

function RunNow({ name, again }: { name: string; again: () => void }) {
  const { scopes } = useSession();
  const [busy, setBusy] = useState(false);
  const [told, setTold] = useState<{ outcome: string; words: string }>();
  if (!scopes.includes("admin")) return null;
  const run = async () => {
    setBusy(true);
    setTold(undefined);
    try {
      const fired = await asked(api.POST("/api/v1/schedules/{name}/run", { params: { path: { name } } }));
      setTold({ outcome: fired.outcome, words: fired.error ?? fired.note ?? "" });
      toast(`${name}: ${fired.outcome}.`, fired.outcome === "failed" ? "bad" : "good");
    } catch (error) {
      const refusal = Refusal.of(error);
      setTold({ outcome: "refused", words: `${refusal.message} ${refusal.help ?? ""}` });
    } finally {
      setBusy(false);
      again();
    }
  };
  return (
    <>
      <button onClick={run} disabled={busy} aria-label={`${busy ? "Running …" : "Run now"}: ${name}`}>{busy ? <><span class="spinner" aria-hidden="true" /> Running …</> : "Run now"}</button>
      <span role="status" class="told-here">{told && <><State of={told.outcome} /> {told.words && <span class="wrap"><Ticked words={told.words} /></span>}</>}</span>
    </>
  );
}
