// A side-by-side diff of two texts; unified on narrow screens.
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { editorExtensions, shadowRootOf } from "./host";

/** Both texts are read-only. */
export interface DiffProps {
  before: string;
  after: string;
  labels: [string, string];
}

const diffTheme = EditorView.theme({
  ".cm-changedLine, .cm-insertedLine": { backgroundColor: "var(--good-ground)" },
  "&.cm-merge-a .cm-changedLine, .cm-deletedChunk": { backgroundColor: "var(--bad-ground)" },
  "&.cm-merge-b .cm-changedText, .cm-insertedLine .cm-changedText": {
    background: "none",
    textDecoration: "underline",
    textDecorationColor: "var(--good)",
    textDecorationThickness: "2px",
  },
  "&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText": {
    background: "none",
    textDecoration: "underline",
    textDecorationColor: "var(--bad)",
    textDecorationThickness: "2px",
  },
  ".cm-collapsedLines": { background: "var(--shade)", color: "var(--quiet)" },
  // CodeMirror's own symbol is missing from many fonts.
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: '"⋯"' },
});

const readOnly = [EditorState.readOnly.of(true), EditorView.editable.of(false), editorExtensions, diffTheme];
const collapse = { margin: 3, minSize: 6 };

export function Diff({ before, after, labels }: DiffProps) {
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!container.current) return;
    const root = shadowRootOf(container.current);
    const codePointName = (label: string) => EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" });
    if (matchMedia("(max-width: 50rem)").matches) {
      const extensions = [
        readOnly,
        codePointName(labels[1]),
        unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: collapse }),
      ];
      const view = new EditorView({ doc: after, extensions, parent: root, root });
      return () => view.destroy();
    }
    const side = (doc: string, label: string) => ({ doc, extensions: [readOnly, codePointName(label)] });
    const view = new MergeView({
      a: side(before, labels[0]),
      b: side(after, labels[1]),
      parent: root,
      root,
      collapseUnchanged: collapse,
      gutter: true,
    });
    return () => view.destroy();
  }, [before, after, labels[0], labels[1]]);
  return (
    <figure class="diff">
      <figcaption class="row quiet">
        <span class="grow before">{labels[0]}</span>
        <span class="grow after">{labels[1]}</span>
      </figcaption>
      {before === after ? <p class="quiet same">No difference.</p> : <div class="editor" ref={container} />}
    </figure>
  );
}
