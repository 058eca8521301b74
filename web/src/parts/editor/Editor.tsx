// A text editor. Completion, diagnostics and highlighting are passed in as extensions.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { editorExtensions, shadowRootOf } from "./host";

export interface EditorProps {
  value: string;
  change?: (value: string) => void;
  label: string;
  readOnly?: boolean;
  /** Compared by identity: keep it stable between renders. */
  extensions?: Extension;
  /** Receives the view once it exists, for example to insert text at the cursor. */
  ready?: (view: EditorView) => void;
}

/** Tab leaves the editor, for keyboard accessibility; Ctrl-M (Shift-Alt-M on a Mac) makes Tab indent. */
export function Editor({ value, change, label, readOnly = false, extensions = [], ready }: EditorProps) {
  const container = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const extra = useRef(new Compartment());
  const onChange = useRef(change);
  onChange.current = change;
  /**
   * Texts passed to `change` that have not come back as `value` yet. They come back late and must not undo newer input.
   */
  const echoes = useRef<string[]>([]);
  /** Set while a new `value` is applied, which must not call `change`. */
  const applying = useRef(false);
  useEffect(() => {
    if (!container.current) return;
    const root = shadowRootOf(container.current);
    const listener = EditorView.updateListener.of((update) => {
      if (!update.docChanged || !onChange.current || applying.current) return;
      const text = update.state.doc.toString();
      echoes.current.push(text);
      onChange.current(text);
    });
    const state = EditorState.create({
      doc: value,
      extensions: [
        editorExtensions,
        lineNumbers(),
        drawSelection(),
        highlightActiveLine(),
        history(),
        // The browser's own search only finds rendered lines.
        search({ top: true }),
        keymap.of([...searchKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "true", tabindex: "0" }),
        EditorState.readOnly.of(readOnly),
        listener,
        extra.current.of(extensions),
      ],
    });
    view.current = new EditorView({ state, parent: root, root });
    ready?.(view.current);
    return () => view.current?.destroy();
  }, [label, readOnly]);
  useEffect(() => void view.current?.dispatch({ effects: extra.current.reconfigure(extensions) }), [extensions]);
  useEffect(() => {
    const echo = echoes.current.lastIndexOf(value);
    echoes.current.splice(0, echo + 1);
    if (echo >= 0 || !view.current || view.current.state.doc.toString() === value) return;
    applying.current = true;
    view.current.dispatch({ changes: { from: 0, to: view.current.state.doc.length, insert: value } });
    applying.current = false;
  }, [value]);
  return <div class="editor" ref={container} />;
}
