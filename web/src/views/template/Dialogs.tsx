// The three dialogs of the editor: save, roll back, and edit conflict.
import { useState } from "preact/hooks";
import { useQuery } from "../../api/query";
import type { StoredTemplate, TemplateBody } from "../../api/schema";
import { isConflict } from "../../api/versions";
import { normalizeLineEndings } from "../../parts/drafts";
import { EditConflict } from "../../parts/edit_conflict";
import { ReasonField } from "../../parts/reason_field";
import { toast, toastError } from "../../parts/toast";
import type { Draft } from "../../parts/useDraft";
import { restore, save, versionText } from "./requests";
import { useImpact } from "./SaveCost";
import { SaveDialog } from "./SaveDialog";

export type Question = { kind: "save" } | { kind: "restore"; version: number } | { kind: "conflict" };

export interface DialogsProps {
  question: Question;
  ask: (question: Question | undefined) => void;
  draft: Draft;
  stored: TemplateBody;
  /** Loads the stored version. */
  refresh: () => void;
  /** The reason, kept across dialogs. */
  reason: string;
  setReason: (reason: string) => void;
}

export function Dialogs({ question, ask, draft, stored, refresh, reason, setReason }: DialogsProps) {
  const done = (template: StoredTemplate) => {
    toast(
      template.stored ? `Version ${template.version} is stored.` : `No change: this is version ${template.version}.`,
    );
    refresh();
    ask(undefined);
  };
  const saved = (sent: string, template: StoredTemplate) => {
    // As the server stores it: without a byte order mark.
    draft.saved(sent, { version: template.version, text: normalizeLineEndings(template.template) });
    setReason("");
    done(template);
  };
  const onConflict = () => {
    refresh();
    ask({ kind: "conflict" });
  };
  const actions = { saved, onConflict, close: () => ask(undefined), draft, reason, setReason };
  if (question.kind === "save") return <Save {...actions} />;
  if (question.kind === "restore")
    return (
      <Restore
        version={question.version}
        current={stored.version ?? 0}
        done={done}
        onConflict={() => {
          onConflict();
          ask(undefined);
          toast("Another version was stored. Check it first.", "bad");
        }}
        close={() => ask(undefined)}
      />
    );
  return <ConflictDialog {...actions} stored={stored} />;
}

interface DialogActions {
  saved: (sent: string, template: StoredTemplate) => void;
  onConflict: () => void;
  close: () => void;
  draft: Draft;
  reason: string;
  setReason: (reason: string) => void;
}

function Save({ draft, saved, onConflict, close, reason, setReason }: DialogActions) {
  const cost = useImpact(draft.text);
  return (
    <SaveDialog
      title="Save the template"
      action="Save"
      message={reason}
      changeMessage={setReason}
      cost={cost}
      store={(message) => save(draft.text, { message, expected: draft.base })}
      saved={(template) => saved(draft.text, template)}
      conflict={onConflict}
      close={close}
    />
  );
}

function Restore({
  version,
  current,
  done,
  onConflict,
  close,
}: Pick<DialogActions, "onConflict" | "close"> & {
  version: number;
  current: number;
  done: (template: StoredTemplate) => void;
}) {
  const text = useQuery(`template ${version}`, (signal) => versionText(version, signal));
  const cost = useImpact(text.value);
  const [message, setMessage] = useState(`Version ${version} again`);
  return (
    <SaveDialog
      title={`Restore version ${version}`}
      action={`Restore as version ${current + 1}`}
      message={message}
      changeMessage={setMessage}
      cost={cost}
      store={(message) => restore(version, { message, expected: current })}
      saved={done}
      conflict={onConflict}
      close={close}
    />
  );
}

function ConflictDialog({
  draft,
  stored,
  saved,
  onConflict,
  close,
  reason,
  setReason,
}: DialogActions & { stored: TemplateBody }) {
  const [busy, setBusy] = useState(false);
  // There is nothing to show until the stored version has loaded.
  if (!draft.conflict) return null;
  const theirs = { version: stored.version ?? 0, text: normalizeLineEndings(stored.template), by: stored.author };
  const over = async () => {
    setBusy(true);
    try {
      saved(draft.text, await save(draft.text, { message: reason, expected: theirs.version }));
    } catch (error) {
      if (isConflict(error)) onConflict();
      else toastError(error);
      setBusy(false);
    }
  };
  return (
    <EditConflict
      stored={theirs}
      own={draft.text}
      overwrite={over}
      busy={busy}
      keepEditing={close}
      discardMine={() => {
        draft.discard();
        close();
      }}
    >
      <ReasonField value={reason} change={setReason} />
    </EditConflict>
  );
}
