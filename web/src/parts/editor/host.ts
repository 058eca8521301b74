// Mounts CodeMirror in a shadow root. There it uses constructed style sheets, which the page's content security policy
// allows; it forbids `<style>` elements.
import type { Extension } from "@codemirror/state";
import { EditorView, highlightSpecialChars } from "@codemirror/view";
import { BIDI_CONTROLS, codePointName } from "../bidi";

const theme = EditorView.theme({
  "&": { backgroundColor: "var(--paper)", color: "var(--ink)", fontSize: "var(--size-code)", height: "100%" },
  // The page draws the focus ring around the whole editor; here the line numbers would cover it.
  "&.cm-focused": { outline: "none" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--ink)", padding: "0.75rem 0" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-gutters": { backgroundColor: "var(--paper)", color: "var(--quiet)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--shade)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground, ::selection": {
    backgroundColor: "var(--selection)",
  },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--ink)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
    fontFamily: "var(--sans)",
  },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--ink)" },
  ".cm-panels.cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-panel.cm-search": { padding: "0.5rem 2rem 0.5rem 0.6rem", fontFamily: "var(--sans)", fontSize: "0.85rem" },
  ".cm-panel.cm-search label": { fontSize: "0.82rem" },
  ".cm-textfield, .cm-button": {
    font: "inherit",
    color: "var(--ink)",
    background: "var(--paper)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
    padding: "0.15rem 0.5rem",
  },
  ".cm-button:hover": { borderColor: "var(--accent)" },
  ".cm-panel.cm-search [name=close]": { color: "var(--ink)", fontSize: "1.1rem", right: "0.5rem", top: "0.3rem" },
  ".cm-searchMatch": { backgroundColor: "var(--waiting-ground)", outline: "1px solid var(--waiting)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--selection)" },
  ".cm-placeholder": { color: "var(--quiet)" },
  ".cm-specialChar": { color: "var(--bad)" },
});

/** The shadow root of `place`, created once. */
export function shadowRootOf(container: HTMLElement): ShadowRoot {
  return container.shadowRoot ?? container.attachShadow({ mode: "open" });
}

/** Replaces bidirectional control characters by their names on screen; the text keeps them. */
const bidiControls = highlightSpecialChars({
  specialChars: BIDI_CONTROLS,
  render: (code) => {
    const mark = document.createElement("span");
    mark.className = "cm-specialChar";
    mark.textContent = codePointName(code);
    return mark;
  },
});

/** The extensions of every editor. */
export const editorExtensions: Extension = [theme, bidiControls, EditorView.lineWrapping];
