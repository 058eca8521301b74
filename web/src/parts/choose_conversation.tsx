// For whoever is not the owner: they look at one of their own conversations at a time.
import { useTitles } from "../api/titles";
import { When } from "./figures";
import { Busy, Empty, Told } from "./told";
import { href } from "../shell/router";

export function ChooseConversation({ to, what }: { to: (id: string) => string; what: string }) {
  const { all, asking } = useTitles();
  if (asking.refusal && !asking.value) return <Told refusal={asking.refusal} again={asking.again} />;
  if (!asking.value) return <Busy what="Your conversations" />;
  if (all.length === 0) return <Empty title="You have no conversation yet."><p>Begin one in the <a href={href("chat")}>chat</a>; {what} of it can be seen here then.</p></Empty>;
  return (
    <section class="card choose" aria-label="Your conversations">
      <p>The owner looks at everything at once; you look at one of your own conversations. Choose one to see {what} of it.</p>
      <ul>{all.map((one) => (
        <li key={one.id}><a href={to(one.id)}>{one.title || one.id}</a> <span class="quiet"><When at={one.last_activity_at} /></span></li>
      ))}</ul>
    </section>
  );
}
