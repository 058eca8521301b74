// A sender's message and its answer.
import { api, unwrap } from "../../api/client";
import type { PageExchangeBody } from "../../api/schema";
import { StateBadge } from "../../parts/badges";
import { Timestamp } from "../../parts/format";
import { UntrustedText } from "../../parts/messages/Message";
import { href, navigate } from "../../shell/router";
import { TruncatedText } from "./TruncatedText";

async function messageRow(id: string): Promise<string> {
  return (await unwrap(api.GET("/api/v1/inbox/{id}", { params: { path: { id } } }))).body;
}

/** Only the conversation has the full answer; the turn identifies it. */
async function toConversation(turn: string): Promise<undefined> {
  const { session_id } = await unwrap(api.GET("/api/v1/traces/{turn}", { params: { path: { turn } } }));
  if (session_id) navigate(href("conversations", [session_id]));
}

export function Exchange({ sender, exchange }: { sender: string; exchange: PageExchangeBody["items"][number] }) {
  return (
    <li class="card exchange">
      <UntrustedText from={sender}>
        <TruncatedText
          text={exchange.sender_body}
          whole={() => messageRow(exchange.inbox_message_id)}
          more="Show all"
        />
      </UntrustedText>
      {exchange.agent_reply === null || exchange.agent_reply === undefined ? (
        <p class="quiet">Handled without an answer.</p>
      ) : (
        <div class="reply">
          <p class="quiet">Answer</p>
          <TruncatedText
            text={exchange.agent_reply}
            whole={() => toConversation(exchange.turn_id)}
            more="Read the full text in the conversation"
          />
        </div>
      )}
      <footer>
        <StateBadge
          of={exchange.agent_reply ? "answered" : "no_answer"}
          title={exchange.agent_reply ? "Answered." : "The agent decided that no answer is needed."}
        />
        <Timestamp at={exchange.timestamp} as="full" />
        <a href={href("trace", [exchange.turn_id])}>Trace</a>
      </footer>
    </li>
  );
}
