// For whoever is not the owner: they look at one of their own conversations at a time.
import { useAsking } from "../../api/asking";
import { api, asked } from "../../api/client";
import { go, href } from "../../shell/router";
import { When } from "../figures";
import { Answered, Empty } from "../told";
import { ChooseConversation } from "./Choose";
import { Name } from "./Name";

/** As many as are listed; the others are found by a search. */
const LISTED = 20;

export function Own({ to, what }: { to: (id: string) => string; what: string }) {
  const asking = useAsking("own", async (signal) => asked(api.GET("/api/v1/conversations", { params: { query: { limit: LISTED } }, signal })));
  return (
    <Answered asking={asking} what="Your conversations">
      {({ items, next }) => items.length === 0 ? <Empty title="You have no conversation yet."><p>Begin one in the <a href={href("chat")}>chat</a>; {what} of it can be seen here then.</p></Empty> : (
        <section class="card choose" aria-label="Your conversations">
          <p>The owner looks at everything at once; you look at one of your own conversations. Choose one to see {what} of it.</p>
          {next && <ChooseConversation label="Any of yours" chosen="" choose={(id) => go(to(id))} />}
          <ul>{items.map((one) => (
            <li key={one.id}><a href={to(one.id)}><Name of={one} /></a> <span class="quiet"><When at={one.last_activity_at} /></span></li>
          ))}</ul>
        </section>
      )}
    </Answered>
  );
}
