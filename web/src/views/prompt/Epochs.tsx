// The frozen prompts of a conversation: why each epoch started, and the changes between any two.

import { api, unwrap } from "../../api/client";
import { usePages } from "../../api/pages";
import { useQuery } from "../../api/query";
import { ConversationNotFound } from "../../parts/conversation/ConversationNotFound";
import { ConversationPicker } from "../../parts/conversation/ConversationPicker";
import { PagedList } from "../../parts/list";
import { EmptyState, QueryResult } from "../../parts/states";
import { href } from "../../shell/router";
import { EpochDiff } from "./EpochDiff";
import { EpochTable } from "./EpochTable";
import type { Move } from "./prompt";

export function Epochs({ query, move }: { query: URLSearchParams; move: Move }) {
  const recent = useQuery("recent", (signal) =>
    unwrap(api.GET("/api/v1/conversations", { params: { query: { limit: 1 } }, signal })),
  );
  return (
    <QueryResult query={recent} what="Conversations">
      {(page) => {
        const chosen = query.get("conversation") ?? page.items[0]?.id;
        if (!chosen)
          return (
            <EmptyState title="No conversations yet.">
              The first message of a conversation starts an epoch: <a href="#/chat">send a message</a>.
            </EmptyState>
          );
        return (
          <div class="vertical-stack">
            <div class="row conversation-choice">
              <ConversationPicker
                label="Conversation"
                chosen={chosen}
                choose={(conversation) => move({ tab: "epochs", conversation, from: undefined, to: undefined })}
              />
              <a href={href("conversations", [chosen])}>Read it</a>
            </div>
            <History key={chosen} conversation={chosen} query={query} move={move} />
          </div>
        );
      }}
    </QueryResult>
  );
}

function History({ conversation, query, move }: { conversation: string; query: URLSearchParams; move: Move }) {
  const pages = usePages(conversation, async (after, signal) => {
    const { epochs, in_force } = await unwrap(
      api.GET("/api/v1/conversations/{id}/prompt", {
        params: { path: { id: conversation }, query: { after } },
        signal,
      }),
    );
    return { ...epochs, items: epochs.items.map((epoch) => ({ ...epoch, inForce: epoch.number === in_force })) };
  });
  if (pages.error?.status === 404) return <ConversationNotFound id={conversation} />;
  const newest = pages.items[0]?.number ?? 0;
  const to = numberIn(query.get("to"), newest) ?? newest;
  const from = numberIn(query.get("from"), newest) ?? pages.items.find((epoch) => epoch.number < to)?.number ?? to;
  const pick = (changes: { from?: number; to?: number }) =>
    move({ tab: "epochs", conversation, from: String(changes.from ?? from), to: String(changes.to ?? to) }, "replace");
  return (
    <>
      <PagedList
        pages={pages}
        what="Epochs"
        empty={<EmptyState title="No epochs that you may see.">The first turn starts an epoch.</EmptyState>}
      >
        {(epochs) => <EpochTable epochs={epochs} from={from} to={to} pick={pick} />}
      </PagedList>
      {newest > 0 && <EpochDiff conversation={conversation} from={from} to={to} epochs={pages.items} />}
    </>
  );
}

/** Any epoch named in the URL, even if it is not on a loaded page. */
function numberIn(word: string | null, newest: number): number | undefined {
  const number = Number(word);
  return Number.isInteger(number) && number >= 1 && number <= newest ? number : undefined;
}
