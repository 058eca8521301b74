// The "not found" state of a conversation.

import { href } from "../../shell/router";
import { EmptyState } from "../states";

export function ConversationNotFound({ id, chat }: { id: string; chat?: boolean }) {
  return (
    <EmptyState title="Conversation not found.">
      <p>
        No data about <code class="wrap">{id}</code>. It may have been deleted, or you may not have access.
      </p>
      <p>
        {chat && (
          <>
            <a href={href("chat")}>Start a new chat</a> ·{" "}
          </>
        )}
        <a href={href("conversations")}>Show all conversations</a>
      </p>
    </EmptyState>
  );
}
