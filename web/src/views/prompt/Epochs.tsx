// The frozen prompts of a conversation, one after the other: why each began, and what changed between any two.
import { useAsking } from "../../api/asking";
import { api, asked } from "../../api/client";
import { ChooseConversation } from "../../parts/conversation/Choose";
import { NoConversation } from "../../parts/conversation/NoConversation";
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
  const asking = useAsking(conversation, (signal) => asked(api.GET("/api/v1/conversations/{id}/prompt", { params: { path: { id: conversation } }, signal })));
  if (asking.refusal?.status === 404) return <NoConversation id={conversation} />;
  return (
    <Answered asking={asking} what="Epochs">
      {(prompt) => {
        const epochs = prompt.epochs.items;
        const numbers = epochs.map((epoch) => epoch.number);
        const newest = numbers[0];
        if (newest === undefined) return <Empty title="This conversation has no epoch that you may see.">One opens with its first turn.</Empty>;
        const to = numberIn(query.get("to"), numbers) ?? newest;
        const from = numberIn(query.get("from"), numbers) ?? numbers.find((number) => number < to) ?? newest;
        const pick = (changes: { from?: number; to?: number }) => move({ tab: "epochs", conversation, from: String(changes.from ?? from), to: String(changes.to ?? to) }, "replace");
        return (
          <>
            <EpochTable epochs={epochs} inForce={prompt.in_force} from={from} to={to} pick={pick} />
            {prompt.epochs.next && <p class="quiet">There are older ones; the newest {epochs.length} are shown.</p>}
            <EpochDiff conversation={conversation} from={from} to={to} epochs={epochs} />
          </>
        );
      }}
    </Answered>
  );
}

function numberIn(word: string | null, numbers: number[]): number | undefined {
  return numbers.find((number) => String(number) === word);
}
