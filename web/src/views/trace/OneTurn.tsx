// One turn: how it ended in a sentence, where the time and the money went, and the waterfall of everything it did.
import { useMemo } from "preact/hooks";
import { useAsking, useEvery } from "../../api/asking";
import { api, asked } from "../../api/client";
import type { Trace } from "../../api/schema";
import { Quoted } from "../../parts/conversation/Name";
import { State } from "../../parts/marks";
import { UNCHARGED, When, count, duration, money, share } from "../../parts/figures";
import { Ticked } from "../../parts/ticked";
import { Busy, Empty, Told } from "../../parts/told";
import { visible } from "../../parts/visible";
import { href } from "../../shell/router";
import { Breakdown } from "./Breakdown";
import { Neighbours } from "./Neighbours";
import { Waterfall } from "./Waterfall";
import { breakdownOf, callsCost } from "./breakdown";
import { scaleOf } from "./scale";
import { rowsOf } from "./spans";
import { isUncharged, retriesOf, summaryOf } from "./summary";

export function OneTurn({ turn, conversation }: { turn: string; conversation: string | null }) {
  const asking = useAsking(turn, (signal) =>
    asked(api.GET("/api/v1/traces/{turn}", { params: { path: { turn }, query: conversation ? { conversation } : {} }, signal })));
  useEvery(2000, () => !asking.busy && asking.value?.state === "running" && asking.again());
  return (
    <>
      <p class="back"><a href={href("trace")}>← All turns</a></p>
      {!asking.value && <div class="head"><h1>Trace</h1></div>}
      {asking.refusal && (asking.refusal.status === 404 ? <NoTurn turn={turn} /> : <Told refusal={asking.refusal} again={asking.again} />)}
      {asking.value ? <Shown trace={asking.value} /> : !asking.refusal && <Busy what="Trace" />}
    </>
  );
}

function NoTurn({ turn }: { turn: string }) {
  return (
    <Empty title="There is no such turn.">
      <p>Nothing is known of <code class="wrap">{turn}</code>. Its conversation may have been deleted, or it is not yours to see.</p>
      <p><a href={href("trace")}>See all turns</a></p>
    </Empty>
  );
}

function Shown({ trace }: { trace: Trace }) {
  const rows = useMemo(() => rowsOf(trace), [trace]);
  const scale = scaleOf(rows, trace.duration_ms);
  return (
    <>
      <div class="head">
        <h1>{trace.request ? "Proxied request" : "Turn"}{trace.session_id && <> in <span class="wrap"><Quoted of={{ id: trace.session_id }} /></span></>}</h1>
        <State of={trace.state} />
        <p><When at={trace.started_at} as="full" />, <When at={trace.started_at} />.{trace.trust && trace.node && <> At {trace.trust} trust, on <span class="wrap">{visible(trace.node)}</span></>}{trace.attempts > 1 && `, begun ${trace.attempts} times`}.</p>
      </div>
      <div class="stack-of">
        <section class={`told ${trace.state === "failed" ? "bad" : trace.state === "done" ? "" : "waiting"}`} aria-label="In short" aria-live="polite">
          <p class="summary"><strong>{visible(summaryOf(trace, rows))}</strong></p>
          {trace.error && <p><Ticked words={trace.error} /></p>}
        </section>
        {trace.session_id && <nav class="turn-links" aria-label="From this turn">
          <a href={href("conversations", [trace.session_id])}>Its conversation</a>
          <a href={href("prompt", [], { conversation: trace.session_id })}>Its prompt</a>
          <a href={href("trace", [], { conversation: trace.session_id })}>All turns of this conversation</a>
          {trace.turn && <Neighbours turn={trace.turn} session={trace.session_id} />}
        </nav>}
        <div class="columns">
          <section class="card" aria-label="In numbers"><Figures trace={trace} retries={retriesOf(rows)} recorded={callsCost(rows)} /></section>
          {trace.state !== "running" && <Breakdown portions={breakdownOf(rows, scale.whole)} whole={scale.whole} />}
        </div>
        <Waterfall rows={rows} scale={scale} />
        <p class="quiet wrap">{trace.request ? "Request" : "Turn"} <code>{trace.request ?? trace.turn}</code></p>
      </div>
    </>
  );
}

function Figures({ trace, retries, recorded }: { trace: Trace; retries: number; recorded: number | null }) {
  const { usage } = trace;
  const read = usage.input + usage.cache_read + usage.cache_write;
  const uncharged = isUncharged(trace, recorded);
  const figures: [string, string, string?][] = [
    [trace.state === "running" ? "on record so far" : "took", duration(trace.duration_ms)],
    ["calls answered", count(trace.calls)],
    ["calls failed", count(trace.failed_calls)],
    ["tried again", `${count(retries)} ×`],
    ["tokens in", count(read), "read by models, from wherever"],
    ["from the cache", usage.cache_unknown ? "not reported" : read === 0 ? "–" : share(usage.cache_read / read)],
    ["tokens out", count(usage.output)],
    uncharged ? ["cost", "–", UNCHARGED] : ["cost", typeof trace.cost_usd === "number" ? money(trace.cost_usd) : recorded === null ? (trace.state === "running" ? "–" : "not known") : `≥ ${money(recorded)}`],
  ];
  return <dl class="figures">{figures.map(([name, value, title]) => <div key={name} title={title}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}
