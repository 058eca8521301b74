// One answer: its words and tools, how it goes or how it ended, what it took, and the way to its trace.
import type { ComponentChildren } from "preact";
import { UNCHARGED, duration, money, tokens, When } from "../figures";
import { Notice, Parts, Withheld } from "./Said";
import type { TurnCost } from "./turns";
import { sentence } from "../told";
import { href } from "../../shell/router";
import { Question } from "./Question";
import { Status } from "./Status";
import type { Entry } from "./timeline";

type TurnEntry = Extract<Entry, { kind: "turn" }>;

export function Answer({ entry, conversation, agent, owner, cost, interrupted, reply }: { entry: TurnEntry; conversation: string | undefined; agent: string; owner: boolean; cost: TurnCost | undefined; interrupted?: boolean; reply: (callId: string, answer: string) => Promise<unknown> }) {
  const { live } = entry;
  const runs = live !== undefined && live.outcome === undefined;
  if (entry.withheld) return <Withheld />;
  const outcome = live?.outcome ?? cost?.state;
  return (
    <article class={`bubble answer${runs ? " running" : ""}`} aria-busy={runs}>
      <header>
        <strong>{entry.author ?? agent}</strong> <span class="quiet">agent</span>
        {entry.at && <span class="quiet"><When at={entry.at} /></span>}
      </header>
      <Parts parts={entry.parts} ended={!runs} />
      {live?.question && <Question key={live.question.callId} question={live.question} owner={owner} reply={(answer) => reply(live.question?.callId ?? "", answer)} />}
      {runs && !live.question && <Status text={interrupted ? "The server was interrupted. The answer goes on in a moment …" : live.status ?? doing(entry)} />}
      <Ending entry={entry} conversation={conversation} outcome={outcome} />
      {!runs && <Took entry={entry} conversation={conversation} cost={cost} />}
    </article>
  );
}

/** What a turn is at that says nothing of itself. */
function doing({ parts }: TurnEntry): string {
  const last = parts.at(-1);
  if (!last) return "Thinking …";
  return last.kind === "tool" && last.result === undefined ? `Running ${last.tool} …` : "Writing …";
}

function Ending({ entry, conversation, outcome }: { entry: TurnEntry; conversation: string | undefined; outcome: string | undefined }) {
  const error = entry.live?.error ?? null;
  const trace = entry.turn && <a href={href("trace", [entry.turn], { conversation })}>See what happened</a>;
  if (error || (outcome === "failed" && entry.notices.length === 0))
    return <div class="told bad" role="alert"><p><strong>This turn failed.</strong> {error && sentence(error)}</p><p>What you said is kept: say “go on”, or say it again. {trace}</p></div>;
  if (entry.notices.length > 0) return <>{entry.notices.map((notice, at) => <Notice key={at} text={notice}>{trace}</Notice>)}</>;
  if (outcome === "cancelled") return <Notice text="Stopped. What was said so far is kept." />;
  if (outcome === "interrupted") return <Notice text="This turn was cut off and is not gone on with.">{trace}</Notice>;
  return null;
}

/** What the turn took, as far as it is known. */
function Took({ entry, conversation, cost }: { entry: TurnEntry; conversation: string | undefined; cost: TurnCost | undefined }) {
  const usage = entry.live && !entry.live.incomplete ? entry.live.usage : undefined;
  // The stream tells only sums: where nothing was read and written, no call was answered.
  const uncharged = cost && cost.state !== "running" ? cost.calls === 0 && !cost.usd : usage !== undefined && usage.input + usage.cacheRead + usage.cacheWrite + usage.output === 0 && !entry.live?.cost;
  const known = !uncharged && (usage !== undefined || (cost !== undefined && cost.calls > 0));
  const read = usage ? usage.input + usage.cacheRead + usage.cacheWrite : cost?.read;
  const facts: ComponentChildren[] = [];
  if (known && read !== undefined && read !== null) facts.push(<span title="What the model was sent.">{tokens(read)} read</span>);
  const cached = usage?.cacheRead ?? cost?.cached;
  if (known && cached && read) facts.push(<span title="Of that, read from the provider's cache, which is cheaper.">{tokens(cached)} cached</span>);
  const written = usage?.output ?? cost?.written;
  if (known && written !== undefined && written !== null) facts.push(<span title="What the model wrote.">{tokens(written)} written</span>);
  const paid = usage ? entry.live?.cost : cost?.usd;
  if (known) facts.push(<span title={paid === null || paid === undefined ? "Nobody knows this model's price." : "What this turn cost."}>{paid === null || paid === undefined ? "price unknown" : money(paid)}</span>);
  if (uncharged) facts.push(<span title={UNCHARGED}>cost –</span>);
  if (cost?.ms) facts.push(<span>{duration(cost.ms)}</span>);
  if (entry.turn) facts.push(<a href={href("trace", [entry.turn], { conversation })}>Trace</a>);
  return facts.length > 0 ? <footer>{facts}</footer> : null;
}
