// A message from outside and what became of it.
import type { PageExchangeBody } from "../../api/schema";
import { When } from "../../parts/figures";
import { State } from "../../parts/marks";
import { Outside } from "../../parts/talk/Said";
import { visible } from "../../parts/visible";
import { href } from "../../shell/router";

export function Exchange({ sender, exchange }: { sender: string; exchange: PageExchangeBody["items"][number] }) {
  return (
    <li class="card exchange">
      <Outside from={sender}><p class="speech">{visible(exchange.sender_body)}</p></Outside>
      {exchange.agent_reply === null || exchange.agent_reply === undefined
        ? <p class="quiet">Dealt with, without an answer.</p>
        : <div class="reply"><p class="quiet">Our answer</p><p class="speech">{visible(exchange.agent_reply)}</p></div>}
      <footer>
        <State of={exchange.agent_reply ? "answered" : "no_answer"} title={exchange.agent_reply ? "It was answered." : "The agent decided that it needs none."} />
        <When at={exchange.timestamp} as="full" />
        <a href={href("trace", [exchange.turn_id])}>Trace</a>
      </footer>
    </li>
  );
}
