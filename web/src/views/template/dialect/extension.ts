// CodeMirror extensions for a template dialect: highlighting, completion and diagnostics.
import { autocompletion } from "@codemirror/autocomplete";
import { linter, nextDiagnostic, previousDiagnostic } from "@codemirror/lint";
import { type Extension, RangeSetBuilder } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, keymap, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import type { Variable } from "../../../api/schema";
import { bracketTokens } from "./bracket";
import { bracketCompletion, jinjaCompletion } from "./complete";
import { jinjaTokens } from "./jinja";
import type { SyntaxKind, SyntaxToken } from "./syntax_token";

/** `bracket`, `bracket-compat` or `jinja`, as `/api/v1/occasions` reports it. */
export function templateLanguage(dialect: string, variables: Variable[]): Extension {
  const types = new Set(variables.map((variable) => variable.type));
  const jinja = dialect === "jinja";
  const marks = (text: string) =>
    jinja ? jinjaTokens(text) : bracketTokens(text, { types, compat: dialect === "bracket-compat" });
  return [
    highlighter(marks),
    autocompletion({ override: [jinja ? jinjaCompletion : bracketCompletion(variables)], icons: false }),
    linter(null),
    keymap.of([
      { key: "F8", run: nextDiagnostic },
      { key: "Shift-F8", run: previousDiagnostic },
    ]),
    dialectTheme,
  ];
}

const decorations = new Map<SyntaxKind, Decoration>();

function decoration(kind: SyntaxKind): Decoration {
  const known = decorations.get(kind) ?? Decoration.mark({ class: `tpl-${kind}` });
  decorations.set(kind, known);
  return known;
}

function highlighter(marks: (text: string) => SyntaxToken[]): Extension {
  const all = (view: EditorView): DecorationSet => {
    const builder = new RangeSetBuilder<Decoration>();
    for (const mark of marks(view.state.doc.toString())) builder.add(mark.from, mark.to, decoration(mark.kind));
    return builder.finish();
  };
  class Colours {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = all(view);
    }
    update(update: ViewUpdate) {
      if (update.docChanged) this.decorations = all(update.view);
    }
  }
  return ViewPlugin.fromClass(Colours, { decorations: (colours) => colours.decorations });
}

/** Also distinguishable without colour: variables are boxed, conditions bold, comments italic. */
const dialectTheme = EditorView.theme({
  ".tpl-variable": { color: "var(--static)", backgroundColor: "var(--static-ground)", borderRadius: "3px" },
  ".tpl-condition": { color: "var(--turn)", fontWeight: "700" },
  ".tpl-literal, .tpl-comment": { color: "var(--quiet)", fontStyle: "italic" },
  ".tpl-bracket": { color: "var(--turn)", fontWeight: "700" },
  ".tpl-word": { color: "var(--turn)" },
  ".tpl-name": { color: "var(--static)" },
  ".tpl-string": { color: "var(--good)" },
  ".cm-lintRange": {
    backgroundImage: "none !important",
    paddingBottom: "0",
    textDecorationLine: "underline",
    textDecorationStyle: "wavy",
    textDecorationThickness: "1.5px",
    textUnderlineOffset: "3px",
    textDecorationSkipInk: "none",
  },
  ".cm-lintRange-error": { textDecorationColor: "var(--bad)" },
  ".cm-lintRange-warning": { textDecorationColor: "var(--waiting)" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap", maxWidth: "28rem", padding: "0.35rem 0.6rem" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--waiting)" },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono) !important", maxHeight: "14em" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "0.15rem 0.5rem !important", display: "flex", gap: "0.8rem" },
  ".cm-completionDetail": { fontStyle: "normal", fontFamily: "var(--sans)", color: "var(--quiet)", marginLeft: "auto" },
  "li[aria-selected] .cm-completionDetail": { color: "inherit" },
});
