// A text editor. What else a text can do (completion, problems, colours) comes in as extensions.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { editorLook, shadowOf } from "./host";

export interface EditorProps {
  value: string;
  change?: (value: string) => void;
  label: string;
  readOnly?: boolean;
  /** Compared by identity: keep it between renderings. */
  extensions?: Extension;
  /** Gets the view once it is there, for whoever inserts at the cursor. */
  ready?: (view: EditorView) => void;
}

/** Tab leaves the editor, so that the keyboard alone is enough; Ctrl-M (Shift-Alt-M on a Mac) makes it indent. */
export function Editor({ value, change, label, readOnly = false, extensions = [], ready }: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const extra = useRef(new Compartment());
  const told = useRef(change);
  told.current = change;
  /** What was told and has not come back as `value` yet: it comes back late, and must not undo what was typed since. */
  const echoes = useRef<string[]>([]);
  /** While a text from outside is put in: nobody needs to be told of it. */
  const given = useRef(false);
  useEffect(() => {
    if (!place.current) return;
    const root = shadowOf(place.current);
    const listener = EditorView.updateListener.of((update) => {
      if (!update.docChanged || !told.current || given.current) return;
      const text = update.state.doc.toString();
      echoes.current.push(text);
      told.current(text);
    });
    const state = EditorState.create({
      doc: value,
      extensions: [
        editorLook, lineNumbers(), drawSelection(), highlightActiveLine(), history(),
        // The browser finds only what is on the screen: lines further down are not on the page until somebody scrolls there.
        search({ top: true }), keymap.of([...searchKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "true", tabindex: "0" }),
        EditorState.readOnly.of(readOnly), listener, extra.current.of(extensions),
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
    given.current = true;
    view.current.dispatch({ changes: { from: 0, to: view.current.state.doc.length, insert: value } });
    given.current = false;
  }, [value]);
  return <div class="editor" ref={place} />;
}
