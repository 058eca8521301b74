// One answer: its text and tool calls, its status or outcome, its usage, and a link to its trace.
import type { ComponentChildren } from "preact";
import { href } from "../../shell/router";
import { count, duration, money, Timestamp, tokens, UNCHARGED } from "../format";
import { sentence } from "../states";
import { Notice, Parts, WithheldMessage } from "./Message";
import { Question } from "./Question";
import { TurnStatus } from "./TurnStatus";
import type { Entry } from "./timeline";
import type { TurnCost } from "./turn_costs";

type TurnEntry = Extract<Entry, { kind: "turn" }>;

export function Answer({
  entry,
  conversation,
  agent,
  owner,
  cost,
  interrupted,
  reply,
}: {
  entry: TurnEntry;
  conversation: string | undefined;
  agent: string;
  owner: boolean;
  cost: TurnCost | undefined;
  interrupted?: boolean;
  reply: (callId: string, answer: string) => Promise<unknown>;
}) {
  const { live } = entry;
  const runs = live !== undefined && live.outcome === undefined;
  if (entry.withheld) return <WithheldMessage />;
  const outcome = live?.outcome ?? cost?.state;
  return (
    <article class={`bubble answer${runs ? " running" : ""}`} aria-busy={runs}>
      <header>
        <strong>{entry.author ?? agent}</strong> <span class="quiet">agent</span>
        {entry.at && (
          <span class="quiet">
            <Timestamp at={entry.at} />
          </span>
        )}
      </header>
      <Parts parts={entry.parts} ended={!runs} />
      {live?.question && (
        <Question
          key={live.question.callId}
          question={live.question}
          owner={owner}
          reply={(answer) => reply(live.question?.callId ?? "", answer)}
        />
      )}
      {runs && !live.question && (
        <TurnStatus
          text={
            interrupted
              ? "The server restarted. The answer will resume shortly …"
              : (live.status ?? defaultStatus(entry))
          }
        />
      )}
      <Outcome entry={entry} conversation={conversation} outcome={outcome} />
      {!runs && <Usage entry={entry} conversation={conversation} cost={cost} />}
    </article>
  );
}

/** The status of a turn that reports none itself. */
function defaultStatus({ parts }: TurnEntry): string {
  const last = parts.at(-1);
  if (!last) return "Thinking …";
  return last.kind === "tool" && last.result === undefined ? `Running ${last.tool} …` : "Writing …";
}

function Outcome({
  entry,
  conversation,
  outcome,
}: {
  entry: TurnEntry;
  conversation: string | undefined;
  outcome: string | undefined;
}) {
  const error = entry.live?.error ?? null;
  const trace = entry.turn && <a href={href("trace", [entry.turn], { conversation })}>Show trace</a>;
  if (error || (outcome === "failed" && entry.notices.length === 0))
    return (
      <div class="callout bad" role="alert">
        <p>
          <strong>This turn failed.</strong> {error && sentence(error)}
        </p>
        <p>Your message is kept. Ask the agent to continue, or send it again. {trace}</p>
      </div>
    );
  if (entry.notices.length > 0)
    return (
      <>
        {entry.notices.map((notice, at) => (
          <Notice key={at} text={notice}>
            {trace}
          </Notice>
        ))}
      </>
    );
  if (outcome === "cancelled") return <Notice text="Stopped. The text so far is kept." />;
  if (outcome === "interrupted")
    return <Notice text="This turn was interrupted and will not be resumed.">{trace}</Notice>;
  return null;
}

/** The usage of the turn, as far as it is known. */
function Usage({
  entry,
  conversation,
  cost,
}: {
  entry: TurnEntry;
  conversation: string | undefined;
  cost: TurnCost | undefined;
}) {
  const usage = entry.live && !entry.live.incomplete ? entry.live.usage : undefined;
  // The stream reports sums only: if they are all zero, no model call was answered.
  const uncharged =
    cost && cost.state !== "running"
      ? cost.calls === 0 && !cost.usd
      : usage !== undefined &&
        usage.input + usage.cacheRead + usage.cacheWrite + usage.output === 0 &&
        !entry.live?.cost;
  const known = !uncharged && (usage !== undefined || (cost !== undefined && cost.calls > 0));
  const read = usage ? usage.input + usage.cacheRead + usage.cacheWrite : cost?.read;
  const facts: ComponentChildren[] = [];
  if (known && read !== undefined && read !== null) facts.push(<span>{count(read)} input tokens</span>);
  const cached = usage?.cacheRead ?? cost?.cached;
  if (known && cached && read)
    facts.push(
      <span title="Input tokens read from the provider's cache, at a lower price.">{tokens(cached)} cached</span>,
    );
  const written = usage?.output ?? cost?.written;
  if (known && written !== undefined && written !== null) facts.push(<span>{count(written)} output tokens</span>);
  const usd = usage ? entry.live?.cost : cost?.usd;
  if (known)
    facts.push(
      <span title={usd === null || usd === undefined ? "No price is known for this model." : "Cost of this turn."}>
        {usd === null || usd === undefined ? "price unknown" : money(usd)}
      </span>,
    );
  if (uncharged) facts.push(<span title={UNCHARGED}>cost –</span>);
  if (cost?.ms) facts.push(<span>{duration(cost.ms)}</span>);
  if (entry.turn) facts.push(<a href={href("trace", [entry.turn], { conversation })}>Trace</a>);
  return facts.length > 0 ? <footer>{facts}</footer> : null;
}
