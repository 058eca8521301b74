// The latest conversations, beside the one that is open.
import { useAsking } from "../../api/asking";
import { api, asked } from "../../api/client";
import { Name } from "../../parts/conversation/Name";
import { Answered } from "../../parts/told";
import { When } from "../../parts/figures";
import { href } from "../../shell/router";

/** `round` grows when the list may have changed. */
export function Recent({ current, round }: { current: string | undefined; round: number }) {
  const asking = useAsking(`recent ${round}`, (signal) => asked(api.GET("/api/v1/conversations", { params: { query: { limit: 30 } }, signal })));
  return (
    <aside class="recent" aria-label="Recent conversations">
      <h2>Recent</h2>
      <Answered asking={asking} what="Conversations">
        {({ items }) => items.length === 0 ? <p class="quiet">None yet.</p> : (
          <ul>
            {items.map((one) => (
              <li key={one.id}>
                <a href={href("chat", [one.id])} aria-current={one.id === current ? "page" : undefined}>
                  <span class="clip"><Name of={one} /></span>
                  <span class="quiet clip">{one.user ?? "others"}, <When at={one.last_activity_at} /></span>
                </a>
              </li>
            ))}
          </ul>
        )}
      </Answered>
      <p><a href={href("conversations")}>All conversations</a></p>
    </aside>
  );
}
