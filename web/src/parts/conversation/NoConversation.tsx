// What an address says whose conversation is not there.
import { Empty } from "../told";
import { href } from "../../shell/router";

export function NoConversation({ id, chat }: { id: string; chat?: boolean }) {
  return (
    <Empty title="There is no such conversation.">
      <p>Nothing is known of <code class="wrap">{id}</code>. It may have been deleted, or it is not yours to see.</p>
      <p>{chat && <><a href={href("chat")}>Begin a new chat</a> · </>}<a href={href("conversations")}>See all conversations</a></p>
    </Empty>
  );
}
