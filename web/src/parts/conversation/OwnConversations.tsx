// Lets users who are not the owner choose one of their own conversations.

import { api, unwrap } from "../../api/client";
import { useQuery } from "../../api/query";
import { href, navigate } from "../../shell/router";
import { Timestamp } from "../format";
import { EmptyState, QueryResult } from "../states";
import { ConversationName } from "./ConversationName";
import { ConversationPicker } from "./ConversationPicker";

/** The number of listed conversations; the search finds the others. */
const MAX_LISTED = 20;

export function OwnConversations({ to, what }: { to: (id: string) => string; what: string }) {
  const query = useQuery("own", async (signal) =>
    unwrap(api.GET("/api/v1/conversations", { params: { query: { limit: MAX_LISTED } }, signal })),
  );
  return (
    <QueryResult query={query} what="Your conversations">
      {({ items, next }) =>
        items.length === 0 ? (
          <EmptyState title="No conversations yet.">
            <p>
              Start one in the <a href={href("chat")}>chat</a>; {what} will appear here.
            </p>
          </EmptyState>
        ) : (
          <section class="card choose" aria-label="Your conversations">
            <p>Only the owner can see all conversations at once. Choose one of yours to see {what} of it.</p>
            {next && <ConversationPicker label="Your conversations" chosen="" choose={(id) => navigate(to(id))} />}
            <ul>
              {items.map((one) => (
                <li key={one.id}>
                  <a href={to(one.id)}>
                    <ConversationName of={one} />
                  </a>{" "}
                  <span class="quiet">
                    <Timestamp at={one.last_activity_at} />
                  </span>
                </li>
              ))}
            </ul>
          </section>
        )
      }
    </QueryResult>
  );
}
