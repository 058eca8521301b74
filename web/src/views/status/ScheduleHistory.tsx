// The past runs of a schedule.
import { api, unwrap } from "../../api/client";
import { usePages } from "../../api/pages";
import type { Firing } from "../../api/schema";
import { StateBadge } from "../../parts/badges";
import { CodeText } from "../../parts/code_text";
import { duration, Timestamp } from "../../parts/format";
import { PagedList } from "../../parts/list";
import { EmptyState } from "../../parts/states";
import { href } from "../../shell/router";

export function ScheduleHistory({ name }: { name: string }) {
  const pages = usePages<Firing>(name, (after, signal) =>
    unwrap(
      api.GET("/api/v1/schedules/{name}/history", { params: { path: { name }, query: { limit: 20, after } }, signal }),
    ),
  );
  return (
    <PagedList pages={pages} what="History" empty={<EmptyState title="No runs yet." />}>
      {(firings) => (
        <ul class="plain-list" aria-label={`History of ${name}`}>
          {firings.map((firing) => (
            <li key={firing.due_at}>
              <FiringEnd firing={firing} />
            </li>
          ))}
        </ul>
      )}
    </PagedList>
  );
}

/** The outcome, reason, duration and turns of one run. */
export function FiringEnd({ firing }: { firing: Firing }) {
  const took = firing.ended_at ? Date.parse(firing.ended_at) - Date.parse(firing.claimed_at) : null;
  return (
    <>
      <StateBadge of={firing.outcome ?? "running"} /> <Timestamp at={firing.due_at} />
      {took !== null && <span class="quiet">, took {duration(took)}</span>}
      {firing.conversation && (
        <>
          {" "}
          <a href={href("trace", [], { conversation: firing.conversation })}>turns</a>
        </>
      )}
      {firing.error && (
        <span class="line failed wrap">
          <CodeText words={firing.error} />
        </span>
      )}
      {firing.note && (
        <span class="line quiet wrap">
          <CodeText words={firing.note} />
        </span>
      )}
    </>
  );
}
