// One conversation in full: what it is, what was said, what each answer took.
import { useMemo } from "preact/hooks";
import { useAsking } from "../../api/asking";
import { api, asked } from "../../api/client";
import { usePages } from "../../api/pages";
import type { ConversationBody, MessageBody } from "../../api/schema";
import { Name } from "../../parts/conversation/Name";
import { NoConversation } from "../../parts/conversation/NoConversation";
import { When, count, duration, money, tokens } from "../../parts/figures";
import { Listed } from "../../parts/list";
import { useOccasions } from "../../parts/occasion";
import { Said, Summary } from "../../parts/talk/Said";
import { type TurnCost, useTurnCosts } from "../../parts/talk/turns";
import { Answered, Empty } from "../../parts/told";
import { visible } from "../../parts/visible";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { Answer } from "../../parts/talk/Answer";
import { readConversation } from "../../parts/talk/history";
import { Same } from "../../parts/talk/Same";
import { timeline } from "../../parts/talk/timeline";
import { Delete } from "./Delete";

export function One({ id }: { id: string }) {
  const head = useAsking(id, (signal) => readConversation(id, signal));
  const costs = useTurnCosts(id);
  const pages = usePages(id, (after, signal) => asked(api.GET("/api/v1/conversations/{id}/messages", { params: { path: { id }, query: { all: true, limit: 100, after } }, signal })));
  return (
    <>
      <div class="head">
        <h1 class="wrap">{head.value ? <Name of={head.value} whole /> : "Conversation"}</h1>
        <p><a href={href("conversations")}>All conversations</a></p>
      </div>
      <div class="stack-of one-conversation">
        {head.refusal?.status === 404 ? <NoConversation id={id} /> : <Answered asking={head} what="The conversation">{(about) => <About about={about} />}</Answered>}
        {head.value && (
          <Listed pages={pages} what="What was said" empty={<Empty title="Nothing was said yet"><p><a href={href("chat", [id])}>Begin in the chat</a></p></Empty>}>
            {(items) => <Everything items={items} about={head.value} costs={costs} />}
          </Listed>
        )}
      </div>
    </>
  );
}

function About({ about }: { about: ConversationBody }) {
  const session = useSession();
  const { extent, metrics } = about;
  return (
    <section class="card stack-of" aria-label="About this conversation">
      <dl class="figures conversation-facts">
        <div><dt>Who began it</dt><dd class="wrap">{about.user ?? "others"}</dd></div>
        <div><dt>Where</dt><dd class="wrap">{visible(about.channel ?? "–")}</dd></div>
        <div><dt>Situation</dt><dd>{about.situation}</dd></div>
        <div><dt>Agent</dt><dd class="wrap">{about.agent}</dd></div>
        <div><dt>Began</dt><dd><When at={about.created_at} /></dd></div>
        <div><dt>Last activity</dt><dd><When at={about.last_activity_at} /></dd></div>
        {extent && <div><dt title="What was said, tools included.">Messages</dt><dd>{count(extent.messages)}</dd></div>}
        {extent && <div><dt title="What the model read with its last answer.">Weighs</dt><dd>{tokens(extent.tokens)}</dd></div>}
        {extent && extent.compactions > 0 && <div><dt title="How often a summary took the place of what was said.">Summaries</dt><dd>{count(extent.compactions)}</dd></div>}
        {metrics && <div><dt>Turns</dt><dd>{count(metrics.turns)}</dd></div>}
        {metrics && <div><dt>Tool calls</dt><dd>{count(metrics.tool_calls)}</dd></div>}
        {metrics && <div><dt title="How long its turns took together.">Duration</dt><dd>{duration(metrics.duration_ms)}</dd></div>}
        {metrics && <div><dt title="Tokens read by the model, from the cache or not.">Tokens in</dt><dd>{tokens(metrics.tokens_in)}</dd></div>}
        {metrics && <div><dt title="Tokens written by the model.">Tokens out</dt><dd>{tokens(metrics.tokens_out)}</dd></div>}
        {metrics && <div><dt title={metrics.cost_usd === null ? "The price of a call is not known." : "What its calls have cost."}>Cost</dt><dd>{money(metrics.cost_usd)}</dd></div>}
      </dl>
      <div class="row">
        {session.scopes.includes("chat") && <a class="button main" href={href("chat", [about.id])}>Go on in the chat</a>}
        <a href={href("prompt", [], { conversation: about.id })}>{extent ? `Its prompt, in ${count(extent.epochs)} ${extent.epochs === 1 ? "epoch" : "epochs"}` : "Its prompt and epochs"}</a>
        <a href={href("trace", [], { conversation: about.id })}>Its turns</a>
        <span class="grow" />
        {session.owner && session.scopes.includes("admin") && <Delete about={about} />}
      </div>
      <p class="quiet wrap">Id: <code>{about.id}</code></p>
    </section>
  );
}

function Everything({ items, about, costs }: { items: MessageBody[]; about: ConversationBody | undefined; costs: Map<string, TurnCost> }) {
  const session = useSession();
  const { value: known } = useOccasions();
  const entries = useMemo(() => timeline({ messages: items, turns: [], since: 0 }), [items]);
  const people = new Set([session.user, ...(known?.users ?? []).map((user) => user.name)]);
  const covered = new Set(items.filter((message) => message.covered).map((message) => message.turn ?? message.id));
  return (
    <section class="said-all" aria-label="What was said">
      {entries.map((entry) => {
        if (entry.kind === "summary") return <Summary key={entry.key} message={entry.message} />;
        if (entry.kind === "said") {
          const stranger = session.owner && known !== undefined && entry.message.author !== null && !people.has(entry.message.author ?? "");
          const note = entry.message.covered ? <Covered /> : undefined;
          return <Same key={entry.key} as={[entry.message, stranger]} show={() => <Said message={entry.message} self={session.user} stranger={stranger} note={note} />} />;
        }
        const cost = entry.turn ? costs.get(entry.turn) : undefined;
        const old = covered.has(entry.turn ?? "");
        return <Same key={entry.key} as={[entry.parts.length, cost, about]} show={() => <div class={old ? "covered" : undefined}><Answer entry={entry} conversation={about?.id} agent={about?.agent ?? "The agent"} owner={session.owner} cost={cost} reply={() => Promise.resolve()} /></div>} />;
      })}
    </section>
  );
}

function Covered() {
  return <span class="mark plain" title="The agent reads the summary in place of this.">summarised</span>;
}
