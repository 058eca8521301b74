// The latest conversations, next to the open one.

import { api, unwrap } from "../../api/client";
import { useQuery } from "../../api/query";
import { ConversationName } from "../../parts/conversation/ConversationName";
import { Timestamp } from "../../parts/format";
import { QueryResult } from "../../parts/states";
import { href } from "../../shell/router";

/** `round` is incremented when the list may have changed. */
export function Recent({ current, round }: { current: string | undefined; round: number }) {
  const query = useQuery(`recent ${round}`, (signal) =>
    unwrap(api.GET("/api/v1/conversations", { params: { query: { limit: 30 } }, signal })),
  );
  return (
    <aside class="recent" aria-label="Recent conversations">
      <h2>Recent</h2>
      <QueryResult query={query} what="Conversations">
        {({ items }) =>
          items.length === 0 ? (
            <p class="quiet">None yet.</p>
          ) : (
            <ul>
              {items.map((one) => (
                <li key={one.id}>
                  <a href={href("chat", [one.id])} aria-current={one.id === current ? "page" : undefined}>
                    <span class="clip">
                      <ConversationName of={one} />
                    </span>
                    <span class="quiet clip">
                      {one.user ?? "others"}, <Timestamp at={one.last_activity_at} />
                    </span>
                  </a>
                </li>
              ))}
            </ul>
          )
        }
      </QueryResult>
      <p>
        <a href={href("conversations")}>All conversations</a>
      </p>
    </aside>
  );
}
