// What an address says whose conversation is not there.
import { Empty } from "../../parts/told";
import { href } from "../../shell/router";

export function NoConversation({ id }: { id: string }) {
  return (
    <Empty title="There is no such conversation.">
      <p>Nothing is known of <code class="wrap">{id}</code>. It may have been deleted, or it is not yours to see.</p>
      <p><a href={href("conversations")}>See all conversations</a></p>
    </Empty>
  );
}
