// Schedules: next run, last outcome, and a button to run now.
import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { ApiError, api, unwrap } from "../../api/client";
import { useInterval, useQuery } from "../../api/query";
import type { Firing, Schedule } from "../../api/schema";
import { StateBadge } from "../../parts/badges";
import { CodeText } from "../../parts/code_text";
import { count, Timestamp } from "../../parts/format";
import { EmptyState, QueryResult } from "../../parts/states";
import { toast } from "../../parts/toast";
import { useSession } from "../../shell/session";
import { FiringEnd, ScheduleHistory } from "./ScheduleHistory";
import { POLL_INTERVAL_MS } from "./server_status";

export function Schedules() {
  const query = useQuery("schedules", (signal) => unwrap(api.GET("/api/v1/schedules", { signal })));
  useInterval(POLL_INTERVAL_MS, () => !query.busy && query.reload());
  const [open, setOpen] = useState<string>();
  return (
    <QueryResult query={query} what="Schedules">
      {({ schedules }) =>
        schedules.length === 0 ? (
          <EmptyState title="No schedules.">
            <p>
              Section <code>schedules</code> of foreword.yaml defines scheduled turns, such as a daily summary.
            </p>
          </EmptyState>
        ) : (
          <div class="table as-cards">
            <table role="table">
              <thead role="rowgroup">
                <tr role="row">
                  {["Schedule", "When", "Next", "Last"].map((name) => (
                    <th key={name} role="columnheader" scope="col">
                      {name}
                    </th>
                  ))}
                  <th role="columnheader" scope="col">
                    <span class="visually-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody role="rowgroup">
                {schedules.map((schedule) => (
                  <Fragment key={schedule.name}>
                    <ScheduleRow
                      schedule={schedule as Schedule}
                      open={open === schedule.name}
                      toggle={() => setOpen(open === schedule.name ? undefined : schedule.name)}
                      reload={query.reload}
                    />
                    {open === schedule.name && (
                      <tr role="row" class="opened">
                        <td role="cell" colSpan={5} id={`history-${schedule.name}`}>
                          <ScheduleHistory name={schedule.name} />
                        </td>
                      </tr>
                    )}
                  </Fragment>
                ))}
              </tbody>
            </table>
          </div>
        )
      }
    </QueryResult>
  );
}

function ScheduleRow({
  schedule,
  open,
  toggle,
  reload,
}: {
  schedule: Schedule;
  open: boolean;
  toggle: () => void;
  reload: () => void;
}) {
  return (
    <tr role="row">
      <th role="rowheader" scope="row" class="name wrap">
        {schedule.name}
        <span class="quiet line">
          {schedule.action} for {schedule.user}
        </span>
      </th>
      <td role="cell">
        {schedule.when}
        <span class="quiet line">
          {schedule.time_zone} <code>{schedule.cron}</code>
        </span>
      </td>
      <td role="cell" data-label="next">
        {schedule.enabled ? <Timestamp at={schedule.next_fire_at} /> : <span class="quiet">disabled</span>}
        {schedule.enabled && schedule.next_fire_at && (
          <span class="quiet line">
            <Timestamp at={schedule.next_fire_at} as="full" />
          </span>
        )}
      </td>
      <td role="cell" class="last">
        {schedule.last ? <FiringEnd firing={schedule.last as Firing} /> : <span class="quiet">no runs yet</span>}
        {schedule.consecutive_failures > 1 && (
          <span class="line failed">failed {count(schedule.consecutive_failures)} times in a row</span>
        )}
      </td>
      <td role="cell" class="actions">
        <div>
          <RunNow name={schedule.name} reload={reload} />
          <button
            type="button"
            aria-expanded={open}
            aria-controls={`history-${schedule.name}`}
            onClick={toggle}
            aria-label={`History of ${schedule.name}`}
          >
            History
          </button>
        </div>
      </td>
    </tr>
  );
}

function RunNow({ name, reload }: { name: string; reload: () => void }) {
  const { scopes } = useSession();
  const [busy, setBusy] = useState(false);
  const [told, setTold] = useState<{ outcome: string; words: string }>();
  if (!scopes.includes("admin")) return null;
  const run = async () => {
    setBusy(true);
    setTold(undefined);
    try {
      const fired = await unwrap(api.POST("/api/v1/schedules/{name}/run", { params: { path: { name } } }));
      setTold({ outcome: fired.outcome, words: fired.error ?? fired.note ?? "" });
      toast(`${name}: ${fired.outcome}.`, fired.outcome === "failed" ? "bad" : "good");
    } catch (thrown) {
      const error = ApiError.of(thrown);
      setTold({ outcome: "refused", words: `${error.message} ${error.help ?? ""}` });
    } finally {
      setBusy(false);
      reload();
    }
  };
  return (
    <>
      <button type="button" onClick={run} disabled={busy} aria-label={`${busy ? "Running …" : "Run now"}: ${name}`}>
        {busy ? (
          <>
            <span class="spinner" aria-hidden="true" /> Running …
          </>
        ) : (
          "Run now"
        )}
      </button>
      <span role="status" class="inline-notice">
        {told && (
          <>
            <StateBadge of={told.outcome} />{" "}
            {told.words && (
              <span class="wrap">
                <CodeText words={told.words} />
              </span>
            )}
          </>
        )}
      </span>
    </>
  );
}
