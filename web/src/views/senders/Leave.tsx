// Leaves a message for the agent, as those from outside do, and shows what becomes of it.
import { useEffect, useState } from "preact/hooks";
import { Refusal, api, asked } from "../../api/client";
import type { InboxBody } from "../../api/schema";
import { fresh } from "../../parts/fresh";
import { Dialog } from "../../parts/dialog";
import { Ticked } from "../../parts/ticked";
import { Told } from "../../parts/told";
import { visible } from "../../parts/visible";
import { href } from "../../shell/router";

const LOOK_EVERY = 800;

/** `names`: whether one says from whom, or from whom it is; left out, it is from oneself. */
export function Leave({ names, answered }: { names?: boolean | string; answered: () => void }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button onClick={() => setOpen(true)}>{names ? "Leave a test message …" : "Leave a message …"}</button>
      {open && <Dialog title={names ? "Leave a test message" : "Leave a message"} close={() => setOpen(false)}><Form names={names ?? false} answered={answered} close={() => setOpen(false)} /></Dialog>}
    </>
  );
}

function Form({ names, answered, close }: { names: boolean | string; answered: () => void; close: () => void }) {
  const [sender, setSender] = useState(typeof names === "string" ? names : "");
  const [body, setBody] = useState("");
  const [key, setKey] = useState(() => fresh("page"));
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const [left, setLeft] = useState<InboxBody>();
  const leave = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setRefusal(undefined);
    try {
      // The same key again, after a failure, is the same message.
      const message = { sender: names ? sender.trim() : null, body };
      setLeft(await asked(api.POST("/api/v1/inbox", { body: message, params: { header: { "Idempotency-Key": key } } })));
      answered();
    } catch (error) {
      setRefusal(Refusal.of(error));
      if (Refusal.of(error).code !== "unreachable") setKey(fresh("page"));
    } finally {
      setBusy(false);
    }
  };
  if (left) return <Becoming message={left} answered={answered} close={close} />;
  return (
    <form class="stack-of" onSubmit={leave}>
      {names && <p class="quiet">It is treated like any message from outside: with the trust of a stranger, unless this address belongs to somebody you know.</p>}
      {names && <label class="field">From <input value={sender} required maxLength={200} placeholder="somebody@example.org" onInput={(event) => setSender(event.currentTarget.value)} /></label>}
      <label class="field">Message <textarea value={body} required rows={4} onInput={(event) => setBody(event.currentTarget.value)} /></label>
      {refusal && <Told refusal={refusal} />}
      <div class="row">
        <button class="main" disabled={busy || body.trim() === "" || (names !== false && sender.trim() === "")}>{busy ? "Leaving it …" : "Leave it"}</button>
        <button type="button" onClick={close}>Cancel</button>
      </div>
    </form>
  );
}

/** What becomes of a message that was left. */
function Becoming({ message, answered, close }: { message: InboxBody; answered: () => void; close: () => void }) {
  const [now, setNow] = useState(message);
  const [reply, setReply] = useState<string | null>();
  const [refusal, setRefusal] = useState<Refusal>();
  useEffect(() => {
    if (now.state !== "staged") return;
    const timer = setTimeout(() => {
      asked(api.GET("/api/v1/inbox/{id}", { params: { path: { id: message.id } } })).then((next) => { setRefusal(undefined); setNow({ ...next }); }, (error: unknown) => { setRefusal(Refusal.of(error)); setNow({ ...now }); });
    }, LOOK_EVERY);
    return () => clearTimeout(timer);
  }, [now]);
  useEffect(() => {
    if (now.state === "staged") return;
    answered();
    replyTo(now).then(setReply, (error: unknown) => setRefusal(Refusal.of(error)));
  }, [now.state]);
  return (
    <div class="stack-of" role="status">
      {now.state === "staged" && <p class="busy"><span class="spinner" aria-hidden="true" /> It waits in the inbox. The agent answers in its own time …</p>}
      {now.state === "staged" && now.error && <p class="told waiting">Tried {now.attempts} {now.attempts === 1 ? "time" : "times"}: <Ticked words={now.error} /></p>}
      {now.state === "set_aside" && <p class="told bad">It was set aside after failing: <Ticked words={now.error ?? "no reason is on record"} /></p>}
      {now.state === "consumed" && reply && <div class="told good"><p><strong>Answered:</strong></p><p class="speech">{visible(reply)}</p></div>}
      {now.state === "consumed" && reply === null && <p class="told">It was dealt with, without an answer.</p>}
      {refusal && <Told refusal={refusal} />}
      <div class="row">
        <button class="main" onClick={close}>Close</button>
        <a href={href("senders", [now.sender])} onClick={close}>All that was said with <span class="wrap">{visible(now.sender)}</span></a>
        {now.turn && <a href={href("trace", [now.turn])}>Trace</a>}
      </div>
    </div>
  );
}

/** The answer to a message, looked up among the latest with its sender; null if there is none. */
async function replyTo(message: InboxBody): Promise<string | null> {
  let after: string | undefined;
  for (;;) {
    const { entries } = await asked(api.GET("/api/v1/senders/{sender}", { params: { path: { sender: message.sender }, query: { limit: 500, after } } }));
    const found = entries.items.find((one) => one.inbox_message_id === message.id);
    if (found) return found.agent_reply ?? null;
    if (!entries.next) return null;
    after = entries.next;
  }
}
