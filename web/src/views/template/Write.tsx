// Where the template is written: buttons, the editor, what is wrong with it, and beside it what comes of it.
import { setDiagnostics } from "@codemirror/lint";
import { EditorView } from "@codemirror/view";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { type Asking, useAsking, useSettled } from "../../api/asking";
import type { TemplateImpact, Variable } from "../../api/schema";
import { Editor } from "../../parts/editor/Editor";
import type { Occasion, Occasions } from "../../parts/occasion";
import { Empty } from "../../parts/told";
import type { Draft } from "../../parts/useDraft";
import { check } from "./asks";
import { Buttons } from "./Buttons";
import { buttonsFor, insert } from "./insertion";
import { APPLIES, Cost } from "./Cost";
import { costLine } from "./cost_line";
import { templateLanguage } from "./dialect/extension";
import { PreviewPane, useRendered } from "./Preview";
import { Problems } from "./Problems";
import { type Found, foundIn } from "./places";

export interface WriteProps {
  draft: Draft;
  dialect: string;
  variables: Variable[];
  agents: Occasions["agents"];
  occasion: Occasion;
  choose: (occasion: Occasion) => void;
  cost: Asking<TemplateImpact>;
}

export function Write({ draft, dialect, variables, agents, occasion, choose, cost }: WriteProps) {
  const view = useRef<EditorView | undefined>(undefined);
  const language = useMemo(() => templateLanguage(dialect, variables), [dialect, variables]);
  const groups = useMemo(() => buttonsFor(dialect, variables), [dialect, variables]);
  const { found, checking } = useProblems(draft.text, occasion.agent, view);
  const rendered = useRendered(occasion, agents.length === 0 ? undefined : draft.text);
  const jump = (one: Found) => {
    // While one types, a place may be gone before the next answer says so.
    const [from, to] = [one.from, one.to].map((at) => Math.min(at, view.current?.state.doc.length ?? 0)) as [number, number];
    view.current?.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    view.current?.focus();
  };
  return (
    <div class="writing">
      <div class="pen">
        <Buttons groups={groups} put={(words) => view.current && insert(view.current, words)} />
        <Editor value={draft.text} change={draft.change} label="Template" extensions={language} ready={(ready) => { view.current = ready; }} />
        <p class="quiet keys"><kbd>Ctrl</kbd> <kbd>Space</kbd> completes, <kbd>Ctrl</kbd> <kbd>S</kbd> saves, <kbd>Tab</kbd> leaves the editor. {dialect === "jinja" ? "This is a Jinja template." : "Write [[ for a bracket that is only a bracket."}</p>
        <Problems found={found} checking={checking} preview={rendered.refusal} jump={jump} />
      </div>
      <div class="outcome">
        {agents.length === 0 ? <NoAgent /> : (
          <PreviewPane asking={rendered} agents={agents} occasion={occasion} choose={choose}><p class="cost-line">{costLine(draft.dirty, cost)}</p></PreviewPane>
        )}
      </div>
      <section class="card price" aria-label="What saving would cost">
        <h2>What saving would cost</h2>
        {draft.dirty ? <Cost asking={cost} /> : <p>Nothing: nothing was changed.</p>}
        <p class="quiet">{APPLIES}</p>
      </section>
    </div>
  );
}

function NoAgent() {
  return (
    <Empty title="No agent here uses the template">
      <p>It is stored all the same. Give an agent <code>blueprint: template</code> in <code>foreword.yaml</code>, and it is what that agent reads first.</p>
    </Empty>
  );
}

/** Asks what is wrong once the typing rests, and underlines it. */
function useProblems(text: string, agent: string | undefined, view: { current: EditorView | undefined }) {
  const settled = useSettled(text, 350);
  const checking = useAsking(JSON.stringify([agent, settled]), async (signal) => ({ of: settled, ...(await check(settled, agent, signal)) }));
  const found = useRef<Found[]>([]);
  const checked = checking.value;
  const known = useMemo(() => {
    const doc = view.current?.state.doc;
    // An answer about another text says nothing about this one; a newer answer is on its way.
    if (doc && checked && doc.toString() === checked.of) found.current = foundIn(doc, checked);
    return found.current;
  }, [checked]);
  useEffect(() => {
    if (view.current && checked && view.current.state.doc.toString() === checked.of) view.current.dispatch(setDiagnostics(view.current.state, known));
  }, [checked, known]);
  return { found: known, checking };
}
