// The three questions that saving can ask: why, whether an old text is wanted back, and what to do if somebody was faster.
import { useState } from "preact/hooks";
import { useAsking } from "../../api/asking";
import type { StoredTemplate, TemplateBody } from "../../api/schema";
import { overtaken } from "../../api/versions";
import { inEditor } from "../../parts/drafts";
import { Overtaken } from "../../parts/overtaken";
import { toast, toastRefusal } from "../../parts/toast";
import type { Draft } from "../../parts/useDraft";
import { Why } from "../../parts/why";
import { restore, save, versionText } from "./asks";
import { useImpact } from "./Cost";
import { Saving } from "./Saving";

export type Question = { kind: "save" } | { kind: "restore"; version: number } | { kind: "overtaken" };

export interface DialogsProps {
  question: Question;
  ask: (question: Question | undefined) => void;
  draft: Draft;
  stored: TemplateBody;
  /** Asks the server for what is stored now. */
  refresh: () => void;
  /** Why the draft is to be saved: given once, whatever comes in between. */
  reason: string;
  giveReason: (reason: string) => void;
}

export function Dialogs({ question, ask, draft, stored, refresh, reason, giveReason }: DialogsProps) {
  const done = (template: StoredTemplate) => {
    toast(template.stored ? `Version ${template.version} is stored.` : `That is version ${template.version} already.`);
    refresh();
    ask(undefined);
  };
  const saved = (sent: string, template: StoredTemplate) => {
    // As it is kept: a mark at its head is gone.
    draft.saved(sent, { version: template.version, text: inEditor(template.template) });
    giveReason("");
    done(template);
  };
  const faster = () => {
    refresh();
    ask({ kind: "overtaken" });
  };
  const ways = { saved, faster, close: () => ask(undefined), draft, reason, giveReason };
  if (question.kind === "save") return <Save {...ways} />;
  if (question.kind === "restore") return <Restore version={question.version} current={stored.version ?? 0} done={done} faster={() => { faster(); ask(undefined); toast("Somebody stored another version: look again.", "bad"); }} close={() => ask(undefined)} />;
  return <Faster {...ways} stored={stored} />;
}

interface Ways {
  saved: (sent: string, template: StoredTemplate) => void;
  faster: () => void;
  close: () => void;
  draft: Draft;
  reason: string;
  giveReason: (reason: string) => void;
}

function Save({ draft, saved, faster, close, reason, giveReason }: Ways) {
  const cost = useImpact(draft.text);
  return <Saving title="Save the template" action="Save" message={reason} changeMessage={giveReason} cost={cost}
    store={(message) => save(draft.text, { message, expected: draft.base })} saved={(template) => saved(draft.text, template)} overtaken={faster} close={close} />;
}

function Restore({ version, current, done, faster, close }: Pick<Ways, "faster" | "close"> & { version: number; current: number; done: (template: StoredTemplate) => void }) {
  const text = useAsking(`template ${version}`, (signal) => versionText(version, signal));
  const cost = useImpact(text.value);
  const [message, setMessage] = useState(`Version ${version} again`);
  return <Saving title={`Restore version ${version}`} action={`Store it again as version ${current + 1}`} message={message} changeMessage={setMessage} cost={cost}
    store={(message) => restore(version, { message, expected: current })} saved={done} overtaken={faster} close={close} />;
}

function Faster({ draft, stored, saved, faster, close, reason, giveReason }: Ways & { stored: TemplateBody }) {
  const [busy, setBusy] = useState(false);
  // Until what is stored now has come, there is nothing to show.
  if (!draft.overtaken) return null;
  const theirs = { version: stored.version ?? 0, text: inEditor(stored.template), by: stored.author };
  const over = async () => {
    setBusy(true);
    try {
      saved(draft.text, await save(draft.text, { message: reason, expected: theirs.version }));
    } catch (error) {
      if (overtaken(error)) faster();
      else toastRefusal(error);
      setBusy(false);
    }
  };
  return (
    <Overtaken theirs={theirs} mine={draft.text} saveMine={over} busy={busy} keepWriting={close} takeTheirs={() => { draft.discard(); close(); }}>
      <Why value={reason} change={giveReason} />
    </Overtaken>
  );
}
