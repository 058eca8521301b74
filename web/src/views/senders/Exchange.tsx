// A message from outside and what became of it.
import { api, asked } from "../../api/client";
import type { PageExchangeBody } from "../../api/schema";
import { When } from "../../parts/figures";
import { State } from "../../parts/marks";
import { Outside } from "../../parts/talk/Said";
import { go, href } from "../../shell/router";
import { Speech } from "./Speech";

async function letterOf(id: string): Promise<string> {
  return (await asked(api.GET("/api/v1/inbox/{id}", { params: { path: { id } } }))).body;
}

/** Only the conversation has an answer in full; the turn knows which one it is. */
async function toConversation(turn: string): Promise<undefined> {
  const { session_id } = await asked(api.GET("/api/v1/traces/{turn}", { params: { path: { turn } } }));
  if (session_id) go(href("conversations", [session_id]));
}

export function Exchange({ sender, exchange }: { sender: string; exchange: PageExchangeBody["items"][number] }) {
  return (
    <li class="card exchange">
      <Outside from={sender}><Speech text={exchange.sender_body} whole={() => letterOf(exchange.inbox_message_id)} more="Show all" /></Outside>
      {exchange.agent_reply === null || exchange.agent_reply === undefined
        ? <p class="quiet">Dealt with, without an answer.</p>
        : <div class="reply"><p class="quiet">Our answer</p><Speech text={exchange.agent_reply} whole={() => toConversation(exchange.turn_id)} more="Read all of it in its conversation" /></div>}
      <footer>
        <State of={exchange.agent_reply ? "answered" : "no_answer"} title={exchange.agent_reply ? "It was answered." : "The agent decided that it needs none."} />
        <When at={exchange.timestamp} as="full" />
        <a href={href("trace", [exchange.turn_id])}>Trace</a>
      </footer>
    </li>
  );
}
