// What is in the inbox and not answered: it waits for its turn, is tried again, or was set aside after failing.
import { useRef } from "preact/hooks";
import { useAsking, useEvery } from "../../api/asking";
import { api, asked } from "../../api/client";
import type { InboxBody } from "../../api/schema";
import { When } from "../../parts/figures";
import { State } from "../../parts/marks";
import { Outside } from "../../parts/talk/Said";
import { Ticked } from "../../parts/ticked";
import { Told } from "../../parts/told";
import { visible } from "../../parts/visible";
import { href } from "../../shell/router";

const LOOK_EVERY = 3_000;

async function unanswered(signal: AbortSignal): Promise<InboxBody[]> {
  const of = (state: string) => asked(api.GET("/api/v1/inbox", { params: { query: { state, limit: 100 } }, signal }));
  const [waiting, aside] = await Promise.all([of("staged"), of("set_aside")]);
  return [...waiting.items, ...aside.items];
}

/** `changed` is called when less waits than before. */
export function Waiting({ of, changed }: { of?: string; changed: () => void }) {
  const before = useRef(0);
  const asking = useAsking("waiting", async (signal) => {
    const all = await unanswered(signal);
    const mine = of === undefined ? all : all.filter((message) => message.sender === of);
    if (mine.length < before.current) changed();
    before.current = mine.length;
    return mine;
  });
  useEvery(LOOK_EVERY, () => !asking.busy && asking.again());
  const letters = asking.value ?? [];
  if (letters.length === 0 && !asking.refusal) return null;
  return (
    <section class="waiting-letters" aria-label="Not answered yet">
      <h2>Not answered yet</h2>
      {asking.refusal && <Told refusal={asking.refusal} again={asking.again} />}
      <ul>{letters.map((message) => <Letter key={message.id} message={message} />)}</ul>
    </section>
  );
}

function Letter({ message }: { message: InboxBody }) {
  return (
    <li class="card exchange">
      <Outside from={message.sender}><p class="speech">{visible(message.body)}</p></Outside>
      <footer>
        <State of={message.state === "staged" ? "waiting" : message.state} />
        <span>came <When at={message.received_at} /></span>
        {message.attempts > 0 && <span>tried {message.attempts} {message.attempts === 1 ? "time" : "times"}</span>}
        {message.next_attempt_at && <span>again <When at={message.next_attempt_at} /></span>}
      </footer>
      {message.error && <p class="told bad"><Ticked words={message.error} /> {message.failed_turn && <a href={href("trace", [message.failed_turn])}>What happened</a>}</p>}
      {message.state === "set_aside" && <p class="quiet">Set aside: it is not tried again by itself. <code>foreword inbox retry {message.id}</code> puts it back.</p>}
    </li>
  );
}
