// The writing tab: buttons, editor, problems and preview.
import { setDiagnostics } from "@codemirror/lint";
import { EditorView } from "@codemirror/view";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { type Query, useDebounced, useQuery } from "../../api/query";
import type { TemplateImpact, Variable } from "../../api/schema";
import { Editor } from "../../parts/editor/Editor";
import type { Occasion, Occasions } from "../../parts/occasion";
import { EmptyState } from "../../parts/states";
import type { Draft } from "../../parts/useDraft";
import { costLine } from "./cost_line";
import { templateLanguage } from "./dialect/extension";
import { InsertButtons } from "./InsertButtons";
import { buttonsFor, insert } from "./insert_buttons";
import { PreviewPane, useRendered } from "./Preview";
import { Problems } from "./Problems";
import { problemsIn, type TemplateProblem } from "./positions";
import { check } from "./requests";
import { APPLIES, SaveCost } from "./SaveCost";

export interface WriteTabProps {
  draft: Draft;
  dialect: string;
  variables: Variable[];
  agents: Occasions["agents"];
  occasion: Occasion;
  choose: (occasion: Occasion) => void;
  cost: Query<TemplateImpact>;
}

export function WriteTab({ draft, dialect, variables, agents, occasion, choose, cost }: WriteTabProps) {
  const view = useRef<EditorView | undefined>(undefined);
  const language = useMemo(() => templateLanguage(dialect, variables), [dialect, variables]);
  const groups = useMemo(() => buttonsFor(dialect, variables), [dialect, variables]);
  const { found, checking } = useProblems(draft.text, occasion.agent, view);
  const rendered = useRendered(occasion, agents.length === 0 ? undefined : draft.text);
  const jump = (one: TemplateProblem) => {
    // While the user types, a position may no longer exist.
    const [from, to] = [one.from, one.to].map((at) => Math.min(at, view.current?.state.doc.length ?? 0)) as [
      number,
      number,
    ];
    view.current?.dispatch({
      selection: { anchor: from, head: to },
      effects: EditorView.scrollIntoView(from, { y: "center" }),
    });
    view.current?.focus();
  };
  return (
    <div class="writing">
      <div class="editor-pane">
        <InsertButtons groups={groups} put={(words) => view.current && insert(view.current, words)} />
        <Editor
          value={draft.text}
          change={draft.change}
          label="Template"
          extensions={language}
          ready={(ready) => {
            view.current = ready;
          }}
        />
        <p class="quiet keys">
          <kbd>Ctrl</kbd> <kbd>Space</kbd> completes, <kbd>Ctrl</kbd> <kbd>S</kbd> saves, <kbd>Tab</kbd> leaves the
          editor. {dialect === "jinja" ? "This is a Jinja template." : "Write [[ for a literal bracket."}
        </p>
        <Problems found={found} checking={checking} preview={rendered.error} jump={jump} />
      </div>
      <div class="outcome">
        {agents.length === 0 ? (
          <NoAgent />
        ) : (
          <PreviewPane query={rendered} agents={agents} occasion={occasion} choose={choose}>
            <p class="cost-line">{costLine(draft.dirty, cost)}</p>
          </PreviewPane>
        )}
      </div>
      <section class="card price" aria-label="Cost of saving">
        <h2>Cost of saving</h2>
        {draft.dirty ? <SaveCost query={cost} /> : <p>None: no changes.</p>}
        <p class="quiet">{APPLIES}</p>
      </section>
    </div>
  );
}

function NoAgent() {
  return (
    <EmptyState title="No agent here uses the template">
      <p>
        It is stored nevertheless. Give an agent <code>blueprint: template</code> in <code>foreword.yaml</code> to use
        it.
      </p>
    </EmptyState>
  );
}

/** Checks the text, debounced, and underlines problems. */
function useProblems(text: string, agent: string | undefined, view: { current: EditorView | undefined }) {
  const settled = useDebounced(text, 350);
  const checking = useQuery(JSON.stringify([agent, settled]), async (signal) => ({
    of: settled,
    ...(await check(settled, agent, signal)),
  }));
  const found = useRef<TemplateProblem[]>([]);
  const checked = checking.value;
  const known = useMemo(() => {
    const doc = view.current?.state.doc;
    // Ignore results for another text; a newer check is running.
    if (doc && checked && doc.toString() === checked.of) found.current = problemsIn(doc, checked);
    return found.current;
  }, [checked]);
  useEffect(() => {
    if (view.current && checked && view.current.state.doc.toString() === checked.of)
      view.current.dispatch(setDiagnostics(view.current.state, known));
  }, [checked, known]);
  return { found: known, checking };
}
