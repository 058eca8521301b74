// What is true for a moment only, such as "just now", said anew as time passes. One clock for the whole page, however many listen.
import { useEffect, useRef, useState } from "preact/hooks";

/** As long as "just now" is said. */
const EVERY_MS = 10_000;

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Nobody looks at a page that can't be seen; whoever comes back sees what is true then. */
function tick(): void {
  if (document.visibilityState === "visible") for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  if (listeners.size === 0) {
    timer = setInterval(tick, EVERY_MS);
    document.addEventListener("visibilitychange", tick);
  }
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    document.removeEventListener("visibilitychange", tick);
  };
}

/** What `words` says now. A thousand of them cost little: only those that have something new to say are drawn again. */
export function useTicking(words: () => string): string {
  const [, draw] = useState(0);
  const said = words();
  const latest = useRef({ words, said });
  latest.current = { words, said };
  useEffect(() => listen(() => latest.current.words() !== latest.current.said && draw((before) => before + 1)), []);
  return said;
}
