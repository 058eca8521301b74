// One conversation: its metadata, its messages and the usage of each answer.
import { useMemo } from "preact/hooks";
import { api, unwrap } from "../../api/client";
import { usePages } from "../../api/pages";
import { useQuery } from "../../api/query";
import type { ConversationBody, MessageBody } from "../../api/schema";
import { showBidiControls } from "../../parts/bidi";
import { ConversationName } from "../../parts/conversation/ConversationName";
import { ConversationNotFound } from "../../parts/conversation/ConversationNotFound";
import { count, duration, money, Timestamp, tokens } from "../../parts/format";
import { PagedList } from "../../parts/list";
import { Answer } from "../../parts/messages/Answer";
import { readConversation } from "../../parts/messages/history";
import { Memo } from "../../parts/messages/Memo";
import { Message, Summary } from "../../parts/messages/Message";
import { timeline } from "../../parts/messages/timeline";
import { type TurnCost, useTurnCosts } from "../../parts/messages/turn_costs";
import { useOccasions } from "../../parts/occasion";
import { EmptyState, QueryResult } from "../../parts/states";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { DeleteConversation } from "./DeleteConversation";

export function ConversationDetail({ id }: { id: string }) {
  const head = useQuery(id, (signal) => readConversation(id, signal));
  const costs = useTurnCosts(id);
  const pages = usePages(id, (after, signal) =>
    unwrap(
      api.GET("/api/v1/conversations/{id}/messages", {
        params: { path: { id }, query: { all: true, limit: 100, after } },
        signal,
      }),
    ),
  );
  return (
    <>
      <div class="head">
        <h1 class="wrap">{head.value ? <ConversationName of={head.value} whole /> : "Conversation"}</h1>
        <p>
          <a href={href("conversations")}>All conversations</a>
        </p>
      </div>
      <div class="vertical-stack one-conversation">
        {head.error?.status === 404 ? (
          <ConversationNotFound id={id} />
        ) : (
          <QueryResult query={head} what="The conversation">
            {(about) => <Metadata about={about} />}
          </QueryResult>
        )}
        {head.value && (
          <PagedList
            pages={pages}
            what="Messages"
            empty={
              <EmptyState title="No messages yet">
                <p>
                  <a href={href("chat", [id])}>Start in the chat</a>
                </p>
              </EmptyState>
            }
          >
            {(items) => <MessageLog items={items} about={head.value} costs={costs} />}
          </PagedList>
        )}
      </div>
    </>
  );
}

function Metadata({ about }: { about: ConversationBody }) {
  const session = useSession();
  const { extent, metrics } = about;
  return (
    <section class="card vertical-stack" aria-label="About this conversation">
      <dl class="figures conversation-facts">
        <div>
          <dt>Started by</dt>
          <dd class="wrap">{about.user ?? "others"}</dd>
        </div>
        <div>
          <dt>Where</dt>
          <dd class="wrap">{showBidiControls(about.channel ?? "–")}</dd>
        </div>
        <div>
          <dt>Situation</dt>
          <dd>{about.situation}</dd>
        </div>
        <div>
          <dt>Agent</dt>
          <dd class="wrap">{about.agent}</dd>
        </div>
        <div>
          <dt>Began</dt>
          <dd>
            <Timestamp at={about.created_at} />
          </dd>
        </div>
        <div>
          <dt>Last activity</dt>
          <dd>
            <Timestamp at={about.last_activity_at} />
          </dd>
        </div>
        {extent && (
          <div>
            <dt title="Messages, including tool results.">Messages</dt>
            <dd>{count(extent.messages)}</dd>
          </div>
        )}
        {extent && (
          <div>
            <dt title="Input tokens of the last answer.">Size</dt>
            <dd>{tokens(extent.tokens)}</dd>
          </div>
        )}
        {extent && extent.compactions > 0 && (
          <div>
            <dt title="Number of compactions.">Summaries</dt>
            <dd>{count(extent.compactions)}</dd>
          </div>
        )}
        {metrics && (
          <div>
            <dt>Turns</dt>
            <dd>{count(metrics.turns)}</dd>
          </div>
        )}
        {metrics && (
          <div>
            <dt>Tool calls</dt>
            <dd>{count(metrics.tool_calls)}</dd>
          </div>
        )}
        {metrics && (
          <div>
            <dt title="Total duration of its turns.">Duration</dt>
            <dd>{duration(metrics.duration_ms)}</dd>
          </div>
        )}
        {metrics && (
          <div>
            <dt title="Input tokens, cached or not.">Tokens in</dt>
            <dd>{tokens(metrics.tokens_in)}</dd>
          </div>
        )}
        {metrics && (
          <div>
            <dt title="Output tokens.">Tokens out</dt>
            <dd>{tokens(metrics.tokens_out)}</dd>
          </div>
        )}
        {metrics && (
          <div>
            <dt title={metrics.cost_usd === null ? "The price of a call is unknown." : "Total cost of its calls."}>
              Cost
            </dt>
            <dd>{money(metrics.cost_usd)}</dd>
          </div>
        )}
      </dl>
      <div class="row">
        {session.scopes.includes("chat") && (
          <a class="button main" href={href("chat", [about.id])}>
            Continue in the chat
          </a>
        )}
        <a href={href("prompt", [], { conversation: about.id })}>
          {extent
            ? `Prompt, in ${count(extent.epochs)} ${extent.epochs === 1 ? "epoch" : "epochs"}`
            : "Prompt and epochs"}
        </a>
        <a href={href("trace", [], { conversation: about.id })}>Its turns</a>
        <span class="grow" />
        {session.owner && session.scopes.includes("admin") && <DeleteConversation about={about} />}
      </div>
      <p class="quiet wrap">
        Id: <code>{about.id}</code>
      </p>
    </section>
  );
}

function MessageLog({
  items,
  about,
  costs,
}: {
  items: MessageBody[];
  about: ConversationBody | undefined;
  costs: Map<string, TurnCost>;
}) {
  const session = useSession();
  const { value: known } = useOccasions();
  const entries = useMemo(() => timeline({ messages: items, turns: [], since: 0 }), [items]);
  const people = new Set([session.user, ...(known?.users ?? []).map((user) => user.name)]);
  const covered = new Set(items.filter((message) => message.covered).map((message) => message.turn ?? message.id));
  return (
    <section class="show-all" aria-label="Messages">
      {entries.map((entry) => {
        if (entry.kind === "summary") return <Summary key={entry.key} message={entry.message} />;
        if (entry.kind === "message") {
          const untrusted =
            session.owner &&
            known !== undefined &&
            entry.message.author !== null &&
            !people.has(entry.message.author ?? "");
          const note = entry.message.covered ? <SummarisedBadge /> : undefined;
          return (
            <Memo
              key={entry.key}
              as={[entry.message, untrusted]}
              show={() => <Message message={entry.message} self={session.user} untrusted={untrusted} note={note} />}
            />
          );
        }
        const cost = entry.turn ? costs.get(entry.turn) : undefined;
        const old = covered.has(entry.turn ?? "");
        return (
          <Memo
            key={entry.key}
            as={[entry.parts.length, cost, about]}
            show={() => (
              <div class={old ? "covered" : undefined}>
                <Answer
                  entry={entry}
                  conversation={about?.id}
                  agent={about?.agent ?? "The agent"}
                  owner={session.owner}
                  cost={cost}
                  reply={() => Promise.resolve()}
                />
              </div>
            )}
          />
        );
      })}
    </section>
  );
}

function SummarisedBadge() {
  return (
    <span class="badge plain" title="The agent reads the summary instead.">
      summarised
    </span>
  );
}
