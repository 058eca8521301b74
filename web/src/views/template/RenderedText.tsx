// The preview text. Scrolls changes into view without moving the focus.
import { useLayoutEffect, useRef } from "preact/hooks";
import { firstChange } from "./first_change";

export function RenderedText({ text, old }: { text: string; old: boolean }) {
  const pane = useRef<HTMLPreElement>(null);
  const last = useRef(text);
  useLayoutEffect(() => {
    const at = firstChange(last.current, text);
    last.current = text;
    if (at !== undefined && pane.current) scrollIntoPane(pane.current, at);
  }, [text]);
  return (
    <pre ref={pane} class={`rendered${old ? " old" : ""}`} tabIndex={0} role="region" aria-label="Rendered text">
      {text}
    </pre>
  );
}

/** Scrolls only the pane, and only if the change is not visible already. */
function scrollIntoPane(pane: HTMLElement, at: number): void {
  const words = pane.firstChild;
  if (!(words instanceof Text)) return;
  const range = document.createRange();
  const from = Math.max(0, Math.min(at, words.length - 1));
  range.setStart(words, from);
  range.setEnd(words, Math.min(words.length, from + 1));
  const target = range.getBoundingClientRect();
  const seen = pane.getBoundingClientRect();
  if (target.top >= seen.top && target.bottom <= seen.bottom) return;
  pane.scrollTo({ top: pane.scrollTop + target.top - seen.top - pane.clientHeight / 3 });
}
