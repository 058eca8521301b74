// Puts CodeMirror on the page. It lives in a shadow root: there its styles are constructed sheets, which the page's content
// security policy allows, and not `<style>` elements, which it does not.
import { type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

const look = EditorView.theme({
  "&": { backgroundColor: "var(--paper)", color: "var(--ink)", fontSize: "var(--size-code)", height: "100%" },
  // The page draws the focus around the whole editor; here the line numbers would cover it.
  "&.cm-focused": { outline: "none" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--ink)", padding: "0.75rem 0" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-gutters": { backgroundColor: "var(--paper)", color: "var(--quiet)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--shade)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground, ::selection": { backgroundColor: "var(--selection)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "6px", fontFamily: "var(--sans)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--ink)" },
  ".cm-placeholder": { color: "var(--quiet)" },
});

/** A shadow root for an editor in `place`, made once. */
export function shadowOf(place: HTMLElement): ShadowRoot {
  return place.shadowRoot ?? place.attachShadow({ mode: "open" });
}

/** What every editor here looks like. */
export const editorLook: Extension = [look, EditorView.lineWrapping];
