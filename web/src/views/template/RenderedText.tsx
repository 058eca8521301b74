// The text of the preview. What changed in it comes into sight; the focus stays where it is.
import { useLayoutEffect, useRef } from "preact/hooks";
import { firstChange } from "./changed";

export function RenderedText({ text, old }: { text: string; old: boolean }) {
  const pane = useRef<HTMLPreElement>(null);
  const last = useRef(text);
  useLayoutEffect(() => {
    const at = firstChange(last.current, text);
    last.current = text;
    if (at !== undefined && pane.current) bringIntoSight(pane.current, at);
  }, [text]);
  return <pre ref={pane} class={`rendered${old ? " old" : ""}`} tabIndex={0} role="region" aria-label="Rendered text">{text}</pre>;
}

/** Scrolls only inside the pane, and only if the place can't be seen already: nothing moves without need. */
function bringIntoSight(pane: HTMLElement, at: number): void {
  const words = pane.firstChild;
  if (!(words instanceof Text)) return;
  const range = document.createRange();
  const from = Math.max(0, Math.min(at, words.length - 1));
  range.setStart(words, from);
  range.setEnd(words, Math.min(words.length, from + 1));
  const place = range.getBoundingClientRect();
  const seen = pane.getBoundingClientRect();
  if (place.top >= seen.top && place.bottom <= seen.bottom) return;
  pane.scrollTo({ top: pane.scrollTop + place.top - seen.top - pane.clientHeight / 3 });
}
