// The status view: what runs, what waits and what failed. Refreshes every few seconds while visible.

import { api, unwrap } from "../../api/client";
import { useInterval, useQuery } from "../../api/query";
import { Budgets } from "../../parts/budgets";
import { Timestamp } from "../../parts/format";
import { ErrorNotice, Loading } from "../../parts/states";
import { useSession } from "../../shell/session";
import { Channels } from "./Channels";
import { Deliveries } from "./Deliveries";
import { Errors } from "./Errors";
import { Nodes, Queues } from "./Nodes";
import { Overview } from "./Overview";
import { Runs } from "./Runs";
import { Schedules } from "./Schedules";
import { Section } from "./Section";
import { ServerProblems } from "./ServerProblems";
import { Sources } from "./Sources";
import { POLL_INTERVAL_MS, problemsOf, type StatusReport } from "./server_status";
import { ToolServers } from "./ToolServers";
import "./status.css";

export function StatusView() {
  const { owner } = useSession();
  const query = useQuery(
    "status",
    async (signal) => (await unwrap(api.GET("/api/v1/status", { signal }))) as StatusReport,
  );
  useInterval(POLL_INTERVAL_MS, () => !query.busy && query.reload());
  const status = query.value;
  return (
    <>
      <div class="head">
        <h1>Status</h1>
        <p>
          {status ? (
            <>
              As of <Timestamp at={status.now} as="clock" />
              {query.error ? "; the data below is outdated." : "; refreshes every few seconds."}
            </>
          ) : (
            "Server status."
          )}
          {!owner && " Only the owner sees server-wide data; this is your part."}
        </p>
      </div>
      {query.error && <ErrorNotice error={query.error} reload={query.reload} />}
      {status ? (
        <StatusSections status={status} owner={owner} away={query.error?.code === "unreachable"} />
      ) : (
        !query.error && <Loading what="Status" />
      )}
    </>
  );
}

function StatusSections({ status, owner, away }: { status: StatusReport; owner: boolean; away: boolean }) {
  return (
    <div class="vertical-stack far">
      <ServerProblems problems={problemsOf(status)} />
      <Overview status={status} owner={owner} away={away} />
      {status.sources && status.sources.length > 0 && (
        <Section title="Failing prompt sources" hint="files and templates that cannot be read or rendered">
          <Sources sources={status.sources} />
        </Section>
      )}
      <Section title="Latest errors">
        <Errors errors={status.errors} />
      </Section>
      {owner && (
        <div class="columns">
          <Section title="Nodes">
            <Nodes status={status} />
          </Section>
          {status.queues && (
            <Section title="Queues">
              <Queues queues={status.queues} />
            </Section>
          )}
        </div>
      )}
      {owner && (
        <Section title="Schedules">
          <Schedules />
        </Section>
      )}
      <Section title="Workflow runs">
        <Runs />
      </Section>
      {owner && (
        <>
          <div class="columns">
            <Section title="Channels" hint="of the last 24 hours">
              <Channels channels={status.channels ?? {}} />
            </Section>
            <div class="vertical-stack">
              <Section title="Budgets">
                <div class="card">
                  <Budgets budgets={status.budgets ?? []} />
                </div>
              </Section>
              <Section title="Tool servers">
                <ToolServers servers={status.tool_servers ?? []} />
              </Section>
            </div>
          </div>
          <Section title="Deliveries" hint="answers to bridges">
            <Deliveries />
          </Section>
        </>
      )}
    </div>
  );
}
