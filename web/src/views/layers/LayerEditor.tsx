// Edits a layer, with a live count of the remaining characters.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import type { LayerBody, Written } from "../../api/schema";
import { isConflict } from "../../api/versions";
import { EditConflict } from "../../parts/edit_conflict";
import { Editor } from "../../parts/editor/Editor";
import { count, Timestamp } from "../../parts/format";
import { ReasonField } from "../../parts/reason_field";
import { onSaveKey } from "../../parts/save_key";
import { ErrorNotice } from "../../parts/states";
import { toast } from "../../parts/toast";
import type { Draft } from "../../parts/useDraft";
import { authorText } from "./labels";
import { normalized, type Remaining, remainingFor } from "./remaining";
import { type LayersOf, write } from "./requests";

export const WARNING_SHARE =
  "Takes effect with the next epoch: immediately in new conversations, after compaction in others.";

export interface LayerEditorProps {
  of: LayersOf;
  body: LayerBody;
  draft: Draft;
  /** Whether the user has just opened the editor. */
  focus: boolean;
  refresh: () => void;
  stored: (written: Written) => void;
  close: () => void;
}

export function LayerEditor({ of, body, draft, focus, refresh, stored, close }: LayerEditorProps) {
  const [message, setMessage] = useState("");
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const [conflict, setConflict] = useState(false);
  const now = useRef(draft);
  now.current = draft;
  const remaining = remainingFor(draft.text, {
    layer: body.max_chars,
    remaining: of.remaining,
    stored: body.chars ?? 0,
  });
  const save = async (expected: number) => {
    if (busy) return;
    setBusy(true);
    setError(undefined);
    const sent = draft.text;
    try {
      const written = await write(of.agent, body.id, normalized(sent), { message, expected });
      toast(
        written.stored
          ? `Version ${written.version} of layer ${body.id} is stored.`
          : "No change: this is the current text.",
      );
      setMessage("");
      // Keep the editor open if the text changed while saving.
      if (now.current.text === sent) close();
      now.current.saved(sent, { version: written.version, text: written.content });
      stored(written);
    } catch (error) {
      if (isConflict(error)) setConflict(true);
      else setError(ApiError.of(error));
      refresh();
    } finally {
      setBusy(false);
    }
  };
  const key = useRef(() => {});
  key.current = () => void save(draft.base);
  useEffect(() => onSaveKey(() => key.current()), []);
  return (
    <form
      class="edit"
      onSubmit={(event) => {
        event.preventDefault();
        void save(draft.base);
      }}
    >
      {draft.restoredFrom && draft.dirty && !draft.conflict && (
        <p class="callout" role="status">
          Restored your unsaved draft, last edited <Timestamp at={draft.restoredFrom} />. It exists only in this
          browser.
        </p>
      )}
      {draft.conflict && (
        <p class="callout waiting" role="status">
          {body.current ? authorText(body.current.writer) : "Someone else"} stored version {body.version} since you
          started editing. Your draft is kept.
        </p>
      )}
      <Editor
        value={draft.text}
        change={draft.change}
        label={`Text of layer ${body.id}`}
        ready={(view) => focus && view.focus()}
      />
      <RemainingMeters remaining={remaining} limit={body.max_chars} total={of.max_chars} />
      {error && <SaveError error={error} remaining={remaining} />}
      <ReasonField value={message} change={setMessage} />
      <p class="quiet">{WARNING_SHARE}</p>
      <div class="row doing">
        <button type="submit" class="main" disabled={busy || !draft.dirty}>
          {busy ? "Saving …" : "Save"}
        </button>
        <button
          type="button"
          onClick={() => {
            draft.discard();
            close();
          }}
        >
          {draft.dirty ? "Discard" : "Close"}
        </button>
      </div>
      {conflict && draft.conflict && (
        <EditConflict
          stored={{
            version: body.version ?? 0,
            text: body.content ?? "",
            by: body.current && authorText(body.current.writer),
          }}
          own={draft.text}
          busy={busy}
          overwrite={() => {
            setConflict(false);
            void save(body.version ?? 0);
          }}
          keepEditing={() => setConflict(false)}
          discardMine={() => {
            draft.discard();
            setConflict(false);
            close();
          }}
        />
      )}
    </form>
  );
}

function RemainingMeters({
  remaining,
  limit,
  total,
}: {
  remaining: Remaining;
  limit: number | null | undefined;
  total: number | null | undefined;
}) {
  return (
    <div class="left" role="group" aria-label="Remaining characters">
      {remaining.inLayer !== undefined && limit != null && (
        <Meter name="This layer" left={remaining.inLayer} limit={limit} />
      )}
      {remaining.inAll !== undefined && total != null && (
        <Meter name="All layers" left={remaining.inAll} limit={total} />
      )}
      <p role="status" class={remaining.over > 0 ? "too-long" : ""}>
        {remaining.over > 0
          ? `✕ Too long by ${count(remaining.over)} ${remaining.over === 1 ? "character" : "characters"}.`
          : remaining.blank
            ? "✕ A layer cannot be empty. Roll it back instead."
            : ""}
      </p>
    </div>
  );
}

function Meter({ name, left, limit }: { name: string; left: number; limit: number }) {
  return (
    <p class={left < 0 ? "too-long" : ""}>
      <meter
        min={0}
        max={limit}
        value={Math.min(limit, limit - left)}
        low={limit * 0.8}
        high={limit * 0.95}
        optimum={0}
        aria-label={`${name}: characters used`}
      />
      <span>
        {name}: <strong class="number">{left < 0 ? `${count(-left)} too many` : `${count(left)} left`}</strong> of{" "}
        {count(limit)} characters
      </span>
    </p>
  );
}

/** Why the server refused the text, and what to change. */
function SaveError({ error, remaining }: { error: ApiError; remaining: Remaining }) {
  if (error.code === "layer_refused" && remaining.over > 0)
    return (
      <ErrorNotice
        error={
          new ApiError(
            error.code,
            error.message,
            `Remove ${count(remaining.over)} characters, here or in another layer`,
            error.status,
          )
        }
      />
    );
  return <ErrorNotice error={error} />;
}
