// Rewrites a layer, with what room is left counted while one types.
import { useEffect, useRef, useState } from "preact/hooks";
import { Refusal } from "../../api/client";
import type { LayerBody, Written } from "../../api/schema";
import { overtaken } from "../../api/versions";
import { Editor } from "../../parts/editor/Editor";
import { When, count } from "../../parts/figures";
import { Overtaken } from "../../parts/overtaken";
import { onSaveKey } from "../../parts/save_key";
import { toast } from "../../parts/toast";
import { Told } from "../../parts/told";
import type { Draft } from "../../parts/useDraft";
import { Why } from "../../parts/why";
import { type LayersOf, write } from "./asks";
import { type Room, asStored, roomFor } from "./room";
import { writerWords } from "./words";

export const FROM_WHEN = "Effective from the next epoch: new conversations have it at once, others when they are compacted.";

export interface EditProps {
  of: LayersOf;
  body: LayerBody;
  draft: Draft;
  /** Whether somebody just asked to write. */
  focus: boolean;
  refresh: () => void;
  stored: (written: Written) => void;
  close: () => void;
}

export function Edit({ of, body, draft, focus, refresh, stored, close }: EditProps) {
  const [message, setMessage] = useState("");
  const [refusal, setRefusal] = useState<Refusal>();
  const [busy, setBusy] = useState(false);
  const [conflict, setConflict] = useState(false);
  const now = useRef(draft);
  now.current = draft;
  const room = roomFor(draft.text, { layer: body.max_chars, remaining: of.remaining, stored: body.chars ?? 0 });
  const save = async (expected: number) => {
    if (busy) return;
    setBusy(true);
    setRefusal(undefined);
    const sent = draft.text;
    try {
      const written = await write(of.agent, body.id, asStored(sent), { message, expected });
      toast(written.stored ? `Version ${written.version} of layer ${body.id} is stored.` : "That is its text already.");
      setMessage("");
      // Whoever has typed on goes on writing.
      if (now.current.text === sent) close();
      now.current.saved(sent, { version: written.version, text: written.content });
      stored(written);
    } catch (error) {
      if (overtaken(error)) setConflict(true);
      else setRefusal(Refusal.of(error));
      refresh();
    } finally {
      setBusy(false);
    }
  };
  const key = useRef(() => {});
  key.current = () => void save(draft.base);
  useEffect(() => onSaveKey(() => key.current()), []);
  return (
    <form class="edit" onSubmit={(event) => { event.preventDefault(); void save(draft.base); }}>
      {draft.foundFrom && draft.dirty && !draft.overtaken && <p class="told" role="status">Here is your unsaved work again, last touched <When at={draft.foundFrom} />. It is only in this browser.</p>}
      {draft.overtaken && <p class="told waiting" role="status">{body.current ? writerWords(body.current.writer) : "Somebody"} stored version {body.version} since you began. Your words are kept.</p>}
      <Editor value={draft.text} change={draft.change} label={`Text of layer ${body.id}`} ready={(view) => focus && view.focus()} />
      <Left room={room} limit={body.max_chars} total={of.max_chars} />
      {refusal && <Refused refusal={refusal} room={room} />}
      <Why value={message} change={setMessage} />
      <p class="quiet">{FROM_WHEN}</p>
      <div class="row doing">
        <button class="main" disabled={busy || !draft.dirty}>{busy ? "Saving …" : "Save"}</button>
        <button type="button" onClick={() => { draft.discard(); close(); }}>{draft.dirty ? "Discard" : "Close"}</button>
      </div>
      {conflict && draft.overtaken && (
        <Overtaken theirs={{ version: body.version ?? 0, text: body.content ?? "", by: body.current && writerWords(body.current.writer) }} mine={draft.text} busy={busy}
          saveMine={() => { setConflict(false); void save(body.version ?? 0); }} keepWriting={() => setConflict(false)} takeTheirs={() => { draft.discard(); setConflict(false); close(); }} />
      )}
    </form>
  );
}

function Left({ room, limit, total }: { room: Room; limit: number | null | undefined; total: number | null | undefined }) {
  return (
    <div class="left" role="group" aria-label="Room left">
      {room.inLayer !== undefined && limit != null && <Meter name="This layer" left={room.inLayer} limit={limit} />}
      {room.inAll !== undefined && total != null && <Meter name="All layers" left={room.inAll} limit={total} />}
      <p role="status" class={room.over > 0 ? "too-long" : ""}>
        {room.over > 0 ? `✕ Too long by ${count(room.over)} ${room.over === 1 ? "character" : "characters"}: it would be refused.` : room.blank ? "✕ Empty: a layer can't be. Roll it back instead." : ""}
      </p>
    </div>
  );
}

function Meter({ name, left, limit }: { name: string; left: number; limit: number }) {
  return (
    <p class={left < 0 ? "too-long" : ""}>
      <meter min={0} max={limit} value={Math.min(limit, limit - left)} low={limit * 0.8} high={limit * 0.95} optimum={0} aria-label={`${name}: characters used`} />
      <span>{name}: <strong class="number">{left < 0 ? `${count(-left)} too many` : `${count(left)} left`}</strong> of {count(limit)} characters</span>
    </p>
  );
}

/** Why the server would not have it, and what would help. */
function Refused({ refusal, room }: { refusal: Refusal; room: Room }) {
  if (refusal.code === "layer_refused" && room.over > 0) return <Told refusal={new Refusal(refusal.code, refusal.message, `Take out ${count(room.over)} characters, here or in another layer`, refusal.status)} />;
  return <Told refusal={refusal} />;
}
