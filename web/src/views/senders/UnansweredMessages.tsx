// Unanswered messages in the inbox: waiting, retrying, or set aside after failures.
import { useRef } from "preact/hooks";
import { api, unwrap } from "../../api/client";
import { useInterval, useQuery } from "../../api/query";
import type { InboxBody } from "../../api/schema";
import { StateBadge } from "../../parts/badges";
import { showBidiControls } from "../../parts/bidi";
import { CodeText } from "../../parts/code_text";
import { Timestamp } from "../../parts/format";
import { UntrustedText } from "../../parts/messages/Message";
import { ErrorNotice } from "../../parts/states";
import { href } from "../../shell/router";

const POLL_INTERVAL_MS = 3_000;

async function unanswered(signal: AbortSignal): Promise<InboxBody[]> {
  const of = (state: string) => unwrap(api.GET("/api/v1/inbox", { params: { query: { state, limit: 100 } }, signal }));
  const [waiting, aside] = await Promise.all([of("staged"), of("set_aside")]);
  return [...waiting.items, ...aside.items];
}

/** Called when fewer messages wait than before. */
export function UnansweredMessages({ of, changed }: { of?: string; changed: () => void }) {
  const before = useRef(0);
  const query = useQuery("waiting", async (signal) => {
    const all = await unanswered(signal);
    const mine = of === undefined ? all : all.filter((message) => message.sender === of);
    if (mine.length < before.current) changed();
    before.current = mine.length;
    return mine;
  });
  useInterval(POLL_INTERVAL_MS, () => !query.busy && query.reload());
  const letters = query.value ?? [];
  if (letters.length === 0 && !query.error) return null;
  return (
    <section class="unanswered-messages" aria-label="Unanswered">
      <h2>Unanswered</h2>
      {query.error && <ErrorNotice error={query.error} reload={query.reload} />}
      <ul>
        {letters.map((message) => (
          <UnansweredMessage key={message.id} message={message} />
        ))}
      </ul>
    </section>
  );
}

function UnansweredMessage({ message }: { message: InboxBody }) {
  return (
    <li class="card exchange">
      <UntrustedText from={message.sender}>
        <p class="message-text">{showBidiControls(message.body)}</p>
      </UntrustedText>
      <footer>
        <StateBadge of={message.state === "staged" ? "waiting" : message.state} />
        <span>
          came <Timestamp at={message.received_at} />
        </span>
        {message.attempts > 0 && (
          <span>
            tried {message.attempts} {message.attempts === 1 ? "time" : "times"}
          </span>
        )}
        {message.next_attempt_at && (
          <span>
            again <Timestamp at={message.next_attempt_at} />
          </span>
        )}
      </footer>
      {message.error && (
        <p class="callout bad">
          <CodeText words={message.error} />{" "}
          {message.failed_turn && <a href={href("trace", [message.failed_turn])}>What happened</a>}
        </p>
      )}
      {message.state === "set_aside" && (
        <p class="quiet">
          Set aside: it is not retried automatically. <code>foreword inbox retry {message.id}</code> retries it.
        </p>
      )}
    </li>
  );
}
