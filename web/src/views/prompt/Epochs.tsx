// The frozen prompts of a conversation, one after the other: why each began, and what changed between any two.
import { useAsking } from "../../api/asking";
import { api, asked } from "../../api/client";
import { usePages } from "../../api/pages";
import { ChooseConversation } from "../../parts/conversation/Choose";
import { NoConversation } from "../../parts/conversation/NoConversation";
import { Listed } from "../../parts/list";
import { Answered, Empty } from "../../parts/told";
import { href } from "../../shell/router";
import { EpochDiff } from "./EpochDiff";
import { EpochTable } from "./EpochTable";
import type { Move } from "./prompt";

export function Epochs({ query, move }: { query: URLSearchParams; move: Move }) {
  const recent = useAsking("recent", (signal) => asked(api.GET("/api/v1/conversations", { params: { query: { limit: 1 } }, signal })));
  return (
    <Answered asking={recent} what="Conversations">
      {(page) => {
        const chosen = query.get("conversation") ?? page.items[0]?.id;
        if (!chosen) return <Empty title="There is no conversation yet.">An epoch opens with the first message of one: <a href="#/chat">say something</a>.</Empty>;
        return (
          <div class="stack-of">
            <div class="row conversation-choice">
              <ChooseConversation label="Conversation" chosen={chosen} choose={(conversation) => move({ tab: "epochs", conversation, from: undefined, to: undefined })} />
              <a href={href("conversations", [chosen])}>Read it</a>
            </div>
            <History key={chosen} conversation={chosen} query={query} move={move} />
          </div>
        );
      }}
    </Answered>
  );
}

function History({ conversation, query, move }: { conversation: string; query: URLSearchParams; move: Move }) {
  const pages = usePages(conversation, async (after, signal) => {
    const { epochs, in_force } = await asked(api.GET("/api/v1/conversations/{id}/prompt", { params: { path: { id: conversation }, query: { after } }, signal }));
    return { ...epochs, items: epochs.items.map((epoch) => ({ ...epoch, inForce: epoch.number === in_force })) };
  });
  if (pages.refusal?.status === 404) return <NoConversation id={conversation} />;
  const newest = pages.items[0]?.number ?? 0;
  const to = numberIn(query.get("to"), newest) ?? newest;
  const from = numberIn(query.get("from"), newest) ?? pages.items.find((epoch) => epoch.number < to)?.number ?? to;
  const pick = (changes: { from?: number; to?: number }) => move({ tab: "epochs", conversation, from: String(changes.from ?? from), to: String(changes.to ?? to) }, "replace");
  return (
    <>
      <Listed pages={pages} what="Epochs" empty={<Empty title="This conversation has no epoch that you may see.">One opens with its first turn.</Empty>}>
        {(epochs) => <EpochTable epochs={epochs} from={from} to={to} pick={pick} />}
      </Listed>
      {newest > 0 && <EpochDiff conversation={conversation} from={from} to={to} epochs={pages.items} />}
    </>
  );
}

/** Whatever epoch the address names, also one that stands further down than is shown. */
function numberIn(word: string | null, newest: number): number | undefined {
  const number = Number(word);
  return Number.isInteger(number) && number >= 1 && number <= newest ? number : undefined;
}
