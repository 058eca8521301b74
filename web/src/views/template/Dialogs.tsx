// The three questions that saving can ask: why, whether an old text is wanted back, and what to do if somebody was faster.
import { useState } from "preact/hooks";
import { useAsking } from "../../api/asking";
import { Refusal } from "../../api/client";
import type { StoredTemplate, TemplateBody } from "../../api/schema";
import { inEditor } from "../../parts/drafts";
import { Overtaken } from "../../parts/overtaken";
import { toast } from "../../parts/toast";
import type { Draft } from "../../parts/useDraft";
import { overtaken, restore, save, versionText } from "./asks";
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
}

export function Dialogs({ question, ask, draft, stored, refresh }: DialogsProps) {
  const done = (template: StoredTemplate) => {
    toast(template.stored ? `Version ${template.version} is stored.` : `That is version ${template.version} already.`);
    refresh();
    ask(undefined);
  };
  const saved = (template: StoredTemplate) => {
    // As it is kept: a mark at its head is gone.
    draft.change(inEditor(template.template));
    done(template);
  };
  const faster = () => {
    refresh();
    ask({ kind: "overtaken" });
  };
  if (question.kind === "save") return <Save draft={draft} done={saved} faster={faster} close={() => ask(undefined)} />;
  if (question.kind === "restore") return <Restore version={question.version} current={stored.version ?? 0} done={done} faster={() => { faster(); ask(undefined); toast("Somebody stored another version: look again.", "bad"); }} close={() => ask(undefined)} />;
  return <Faster draft={draft} stored={stored} done={saved} faster={faster} close={() => ask(undefined)} />;
}

interface Ways {
  done: (template: StoredTemplate) => void;
  faster: () => void;
  close: () => void;
}

function Save({ draft, done, faster, close }: Ways & { draft: Draft }) {
  const cost = useImpact(draft.text);
  return <Saving title="Save the template" action="Save" cost={cost} store={(message) => save(draft.text, { message, expected: draft.base })} saved={done} overtaken={faster} close={close} />;
}

function Restore({ version, current, done, faster, close }: Ways & { version: number; current: number }) {
  const text = useAsking(`template ${version}`, (signal) => versionText(version, signal));
  const cost = useImpact(text.value);
  return <Saving title={`Restore version ${version}`} action={`Store it again as version ${current + 1}`} message={`Version ${version} again`} cost={cost}
    store={(message) => restore(version, { message, expected: current })} saved={done} overtaken={faster} close={close} />;
}

function Faster({ draft, stored, done, faster, close }: Ways & { draft: Draft; stored: TemplateBody }) {
  const [busy, setBusy] = useState(false);
  // Until what is stored now has come, there is nothing to show.
  if (!draft.overtaken) return null;
  const theirs = { version: stored.version ?? 0, text: inEditor(stored.template), by: stored.author };
  const over = async () => {
    setBusy(true);
    try {
      done(await save(draft.text, { message: "", expected: theirs.version }));
    } catch (error) {
      if (overtaken(error)) faster();
      else toast(Refusal.of(error).message, "bad");
      setBusy(false);
    }
  };
  return <Overtaken theirs={theirs} mine={draft.text} saveMine={over} busy={busy} keepWriting={close} takeTheirs={() => { draft.discard(); close(); }} />;
}
