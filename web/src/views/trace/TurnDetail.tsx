// One turn: a summary of its outcome, the breakdown of time and cost, and the waterfall of its spans.
import { useMemo } from "preact/hooks";
import { api, unwrap } from "../../api/client";
import { useInterval, useQuery } from "../../api/query";
import type { Trace } from "../../api/schema";
import { StateBadge } from "../../parts/badges";
import { showBidiControls } from "../../parts/bidi";
import { CodeText } from "../../parts/code_text";
import { QuotedName } from "../../parts/conversation/ConversationName";
import { count, duration, money, share, Timestamp, UNCHARGED } from "../../parts/format";
import { EmptyState, ErrorNotice, Loading } from "../../parts/states";
import { href } from "../../shell/router";
import { Breakdown } from "./Breakdown";
import { breakdownOf, callsCost } from "./breakdown";
import { Neighbours } from "./Neighbours";
import { scaleOf } from "./scale";
import { rowsOf } from "./spans";
import { isUncharged, retriesOf, summaryOf } from "./summary";
import { Waterfall } from "./Waterfall";

export function TurnDetail({ turn, conversation }: { turn: string; conversation: string | null }) {
  const query = useQuery(turn, (signal) =>
    unwrap(
      api.GET("/api/v1/traces/{turn}", {
        params: { path: { turn }, query: conversation ? { conversation } : {} },
        signal,
      }),
    ),
  );
  useInterval(2000, () => !query.busy && query.value?.state === "running" && query.reload());
  return (
    <>
      <p class="back">
        <a href={href("trace")}>← All turns</a>
      </p>
      {!query.value && (
        <div class="head">
          <h1>Trace</h1>
        </div>
      )}
      {query.error &&
        (query.error.status === 404 ? (
          <TurnNotFound turn={turn} />
        ) : (
          <ErrorNotice error={query.error} reload={query.reload} />
        ))}
      {query.value ? <Shown trace={query.value} /> : !query.error && <Loading what="Trace" />}
    </>
  );
}

function TurnNotFound({ turn }: { turn: string }) {
  return (
    <EmptyState title="Turn not found.">
      <p>
        No data about <code class="wrap">{turn}</code>. Its conversation may have been deleted, or you may not have
        access.
      </p>
      <p>
        <a href={href("trace")}>Show all turns</a>
      </p>
    </EmptyState>
  );
}

function Shown({ trace }: { trace: Trace }) {
  const rows = useMemo(() => rowsOf(trace), [trace]);
  const scale = scaleOf(rows, trace.duration_ms);
  return (
    <>
      <div class="head">
        <h1>
          {trace.request ? "Proxied request" : "Turn"}
          {trace.session_id && (
            <>
              {" "}
              in{" "}
              <span class="wrap">
                <QuotedName of={{ id: trace.session_id }} />
              </span>
            </>
          )}
        </h1>
        <StateBadge of={trace.state} />
        <p>
          <Timestamp at={trace.started_at} as="full" />, <Timestamp at={trace.started_at} />.
          {trace.trust && trace.node && (
            <>
              {" "}
              At {trace.trust} trust, on <span class="wrap">{showBidiControls(trace.node)}</span>
            </>
          )}
          {trace.attempts > 1 && `, begun ${trace.attempts} times`}.
        </p>
      </div>
      <div class="vertical-stack">
        <section
          class={`callout ${trace.state === "failed" ? "bad" : trace.state === "done" ? "" : "waiting"}`}
          aria-label="Summary"
          aria-live="polite"
        >
          <p class="summary">
            <strong>{showBidiControls(summaryOf(trace, rows))}</strong>
          </p>
          {trace.error && (
            <p>
              <CodeText words={trace.error} />
            </p>
          )}
        </section>
        {trace.session_id && (
          <nav class="turn-links" aria-label="Links">
            <a href={href("conversations", [trace.session_id])}>Conversation</a>
            <a href={href("prompt", [], { conversation: trace.session_id })}>Prompt</a>
            <a href={href("trace", [], { conversation: trace.session_id })}>All turns of this conversation</a>
            {trace.turn && <Neighbours turn={trace.turn} session={trace.session_id} />}
          </nav>
        )}
        <div class="columns">
          <section class="card" aria-label="Figures">
            <Figures trace={trace} retries={retriesOf(rows)} recorded={callsCost(rows)} />
          </section>
          {trace.state !== "running" && <Breakdown portions={breakdownOf(rows, scale.whole)} whole={scale.whole} />}
        </div>
        <Waterfall rows={rows} scale={scale} />
        <p class="quiet wrap">
          {trace.request ? "Request" : "Turn"} <code>{trace.request ?? trace.turn}</code>
        </p>
      </div>
    </>
  );
}

function Figures({ trace, retries, recorded }: { trace: Trace; retries: number; recorded: number | null }) {
  const { usage } = trace;
  const read = usage.input + usage.cache_read + usage.cache_write;
  const uncharged = isUncharged(trace, recorded);
  const figures: [string, string, string?][] = [
    [trace.state === "running" ? "recorded so far" : "took", duration(trace.duration_ms)],
    ["calls answered", count(trace.calls)],
    ["calls failed", count(trace.failed_calls)],
    ["tried again", `${count(retries)} ×`],
    ["tokens in", count(read), "input tokens"],
    ["from the cache", usage.cache_unknown ? "not reported" : read === 0 ? "–" : share(usage.cache_read / read)],
    ["tokens out", count(usage.output)],
    uncharged
      ? ["cost", "–", UNCHARGED]
      : [
          "cost",
          typeof trace.cost_usd === "number"
            ? money(trace.cost_usd)
            : recorded === null
              ? trace.state === "running"
                ? "–"
                : "unknown"
              : `≥ ${money(recorded)}`,
        ],
  ];
  return (
    <dl class="figures">
      {figures.map(([name, value, title]) => (
        <div key={name} title={title}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
