// Submits a message to the inbox as an outside sender would, and shows its progress.
import { useEffect, useState } from "preact/hooks";
import { ApiError, api, unwrap } from "../../api/client";
import type { InboxBody } from "../../api/schema";
import { showBidiControls } from "../../parts/bidi";
import { CodeText } from "../../parts/code_text";
import { Dialog } from "../../parts/dialog";
import { newId } from "../../parts/ids";
import { ErrorNotice } from "../../parts/states";
import { href } from "../../shell/router";

const POLL_INTERVAL_MS = 800;

/** `names`: whether the form asks for the sender, or the sender itself; if omitted, the signed-in user. */
export function SubmitMessage({ names, answered }: { names?: boolean | string; answered: () => void }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {names ? "Submit a test message …" : "Submit a message …"}
      </button>
      {open && (
        <Dialog title={names ? "Submit a test message" : "Submit a message"} close={() => setOpen(false)}>
          <Form names={names ?? false} answered={answered} close={() => setOpen(false)} />
        </Dialog>
      )}
    </>
  );
}

function Form({ names, answered, close }: { names: boolean | string; answered: () => void; close: () => void }) {
  const [sender, setSender] = useState(typeof names === "string" ? names : "");
  const [body, setBody] = useState("");
  const [key, setKey] = useState(() => newId("page"));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const [left, setLeft] = useState<InboxBody>();
  const leave = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      // Retries reuse the idempotency key.
      const message = { sender: names ? sender.trim() : null, body };
      setLeft(
        await unwrap(api.POST("/api/v1/inbox", { body: message, params: { header: { "Idempotency-Key": key } } })),
      );
      answered();
    } catch (error) {
      setError(ApiError.of(error));
      if (ApiError.of(error).code !== "unreachable") setKey(newId("page"));
    } finally {
      setBusy(false);
    }
  };
  if (left) return <SubmissionProgress message={left} answered={answered} close={close} />;
  return (
    <form class="vertical-stack" onSubmit={leave}>
      {names && (
        <p class="quiet">
          It is handled like any outside message: with public trust, unless the address belongs to a known user.
        </p>
      )}
      {names && (
        <label class="field">
          From{" "}
          <input
            value={sender}
            required
            maxLength={200}
            placeholder="somebody@example.org"
            onInput={(event) => setSender(event.currentTarget.value)}
          />
        </label>
      )}
      <label class="field">
        Message <textarea value={body} required rows={4} onInput={(event) => setBody(event.currentTarget.value)} />
      </label>
      {error && <ErrorNotice error={error} />}
      <div class="row">
        <button
          type="submit"
          class="main"
          disabled={busy || body.trim() === "" || (names !== false && sender.trim() === "")}
        >
          {busy ? "Submitting …" : "Submit"}
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </form>
  );
}

/** The progress of a submitted message. */
function SubmissionProgress({
  message,
  answered,
  close,
}: {
  message: InboxBody;
  answered: () => void;
  close: () => void;
}) {
  const [now, setNow] = useState(message);
  const [reply, setReply] = useState<string | null>();
  const [error, setError] = useState<ApiError>();
  useEffect(() => {
    if (now.state !== "staged") return;
    const timer = setTimeout(() => {
      unwrap(api.GET("/api/v1/inbox/{id}", { params: { path: { id: message.id } } })).then(
        (next) => {
          setError(undefined);
          setNow({ ...next });
        },
        (error: unknown) => {
          setError(ApiError.of(error));
          setNow({ ...now });
        },
      );
    }, POLL_INTERVAL_MS);
    return () => clearTimeout(timer);
  }, [now]);
  useEffect(() => {
    if (now.state === "staged") return;
    answered();
    replyTo(now).then(setReply, (error: unknown) => setError(ApiError.of(error)));
  }, [now.state]);
  return (
    <div class="vertical-stack" role="status">
      {now.state === "staged" && (
        <p class="busy">
          <span class="spinner" aria-hidden="true" /> Waiting in the inbox for the agent …
        </p>
      )}
      {now.state === "staged" && now.error && (
        <p class="callout waiting">
          Tried {now.attempts} {now.attempts === 1 ? "time" : "times"}: <CodeText words={now.error} />
        </p>
      )}
      {now.state === "set_aside" && (
        <p class="callout bad">
          Set aside after failures: <CodeText words={now.error ?? "no reason recorded"} />
        </p>
      )}
      {now.state === "consumed" && reply && (
        <div class="callout good">
          <p>
            <strong>Answered:</strong>
          </p>
          <p class="message-text">{showBidiControls(reply)}</p>
        </div>
      )}
      {now.state === "consumed" && reply === null && <p class="callout">Handled without an answer.</p>}
      {error && <ErrorNotice error={error} />}
      <div class="row">
        <button type="button" class="main" onClick={close}>
          Close
        </button>
        <a href={href("senders", [now.sender])} onClick={close}>
          All messages of <span class="wrap">{showBidiControls(now.sender)}</span>
        </a>
        {now.turn && <a href={href("trace", [now.turn])}>Trace</a>}
      </div>
    </div>
  );
}

/** Finds the answer among the sender's latest messages; null if there is none. */
async function replyTo(message: InboxBody): Promise<string | null> {
  let after: string | undefined;
  for (;;) {
    const { entries } = await unwrap(
      api.GET("/api/v1/senders/{sender}", {
        params: { path: { sender: message.sender }, query: { limit: 500, after } },
      }),
    );
    const found = entries.items.find((one) => one.inbox_message_id === message.id);
    if (found) return found.agent_reply ?? null;
    if (!entries.next) return null;
    after = entries.next;
  }
}
