// Messages the server has not accepted yet: waiting, or refused and waiting for a decision.
import { type OutgoingMessage, outbox } from "./outbox";

export function PendingMessages({
  pending,
  offline,
  flush,
}: {
  pending: OutgoingMessage[];
  offline: boolean;
  flush: () => void;
}) {
  const reload = (outgoing: OutgoingMessage) => {
    outbox.change(outgoing.key, { problem: undefined });
    flush();
  };
  return (
    <>
      {pending.map((outgoing) => (
        <article key={outgoing.key} class="bubble mine unsent">
          <header>
            <strong>{outgoing.author}</strong>
            <span>{outgoing.problem ? "not sent" : offline ? "waiting for the connection" : "sending …"}</span>
          </header>
          <p class="message-text">{outgoing.text}</p>
          {outgoing.problem && (
            <div class="callout bad" role="alert">
              <p>
                <strong>Not accepted:</strong> {outgoing.problem.message}
              </p>
              {outgoing.problem.help && <p>{outgoing.problem.help}</p>}
              <div class="row">
                <button type="button" onClick={() => reload(outgoing)}>
                  Try again
                </button>
                <button type="button" onClick={() => outbox.remove(outgoing.key)}>
                  Discard
                </button>
              </div>
            </div>
          )}
        </article>
      ))}
    </>
  );
}
