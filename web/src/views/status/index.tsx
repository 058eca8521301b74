// How things stand: what runs, what waits, what went wrong. Asked again every few seconds while somebody looks.
import { useAsking, useEvery } from "../../api/asking";
import { api, asked } from "../../api/client";
import { When } from "../../parts/figures";
import { Busy, Told } from "../../parts/told";
import { useSession } from "../../shell/session";
import { Budgets } from "../../parts/budgets";
import { Channels } from "./Channels";
import { Deliveries } from "./Deliveries";
import { Errors } from "./Errors";
import { Nodes, Queues } from "./Nodes";
import { Overview } from "./Overview";
import { Runs } from "./Runs";
import { Schedules } from "./Schedules";
import { Section } from "./Section";
import { Sources } from "./Sources";
import { ToolServers } from "./ToolServers";
import { EVERY_MS, type Standing } from "./standing";
import "./status.css";

export function StatusView() {
  const { owner } = useSession();
  const asking = useAsking("status", async (signal) => (await asked(api.GET("/api/v1/status", { signal }))) as Standing);
  useEvery(EVERY_MS, () => !asking.busy && asking.again());
  const standing = asking.value;
  return (
    <>
      <div class="head">
        <h1>Status</h1>
        <p>{standing ? <>As of <When at={standing.now} as="clock" />{asking.refusal ? "; what is below was true then." : "; asked again every few seconds."}</> : "How things stand."}{!owner && " What runs the whole house is the owner's to see; here is what is yours."}</p>
      </div>
      {asking.refusal && <Told refusal={asking.refusal} again={asking.again} />}
      {standing ? <Shown standing={standing} owner={owner} away={asking.refusal?.code === "unreachable"} /> : !asking.refusal && <Busy what="Status" />}
    </>
  );
}

function Shown({ standing, owner, away }: { standing: Standing; owner: boolean; away: boolean }) {
  return (
    <div class="stack-of far">
      <Overview standing={standing} owner={owner} away={away} />
      {standing.sources && standing.sources.length > 0 && <Section title="Failing prompt sources" hint="files and templates that can't be read or rendered"><Sources sources={standing.sources} /></Section>}
      <Section title="Latest errors"><Errors errors={standing.errors} /></Section>
      {owner && (
        <div class="columns">
          <Section title="Nodes"><Nodes standing={standing} /></Section>
          {standing.queues && <Section title="Queues"><Queues queues={standing.queues} /></Section>}
        </div>
      )}
      {owner && <Section title="Schedules"><Schedules /></Section>}
      <Section title="Workflow runs"><Runs /></Section>
      {owner && (
        <>
          <div class="columns">
            <Section title="Channels" hint="of the last 24 hours"><Channels channels={standing.channels ?? {}} /></Section>
            <div class="stack-of">
              <Section title="Budgets"><div class="card"><Budgets budgets={standing.budgets ?? []} /></div></Section>
              <Section title="Tool servers"><ToolServers servers={standing.tool_servers ?? []} /></Section>
            </div>
          </div>
          <Section title="Deliveries" hint="answers on their way to bridges"><Deliveries /></Section>
        </>
      )}
    </div>
  );
}
