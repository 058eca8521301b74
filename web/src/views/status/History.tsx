// How a schedule went before.
import { api, asked } from "../../api/client";
import { usePages } from "../../api/pages";
import type { Firing } from "../../api/schema";
import { When, duration } from "../../parts/figures";
import { Listed } from "../../parts/list";
import { State } from "../../parts/marks";
import { Ticked } from "../../parts/ticked";
import { Empty } from "../../parts/told";
import { href } from "../../shell/router";

export function History({ name }: { name: string }) {
  const pages = usePages<Firing>(name, (after, signal) => asked(api.GET("/api/v1/schedules/{name}/history", { params: { path: { name }, query: { limit: 20, after } }, signal })));
  return (
    <Listed pages={pages} what="History" empty={<Empty title="It has not run yet." />}>
      {(firings) => <ul class="plain-list" aria-label={`History of ${name}`}>{firings.map((firing) => <li key={firing.due_at}><FiringEnd firing={firing} /></li>)}</ul>}
    </Listed>
  );
}

/** How a firing ended, why, how long it took, and the turns it made. */
export function FiringEnd({ firing }: { firing: Firing }) {
  const took = firing.ended_at ? Date.parse(firing.ended_at) - Date.parse(firing.claimed_at) : null;
  return (
    <>
      <State of={firing.outcome ?? "running"} /> <When at={firing.due_at} />{took !== null && <span class="quiet">, took {duration(took)}</span>}
      {firing.conversation && <> <a href={href("trace", [], { conversation: firing.conversation })}>turns</a></>}
      {firing.error && <span class="line failed wrap"><Ticked words={firing.error} /></span>}
      {firing.note && <span class="line quiet wrap"><Ticked words={firing.note} /></span>}
    </>
  );
}
