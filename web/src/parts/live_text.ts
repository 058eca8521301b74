// Relative times such as "just now" that update as time passes. All of them share one timer.
import { useEffect, useRef, useState } from "preact/hooks";

/** Matches the period in which `ago` returns "just now". */
const UPDATE_INTERVAL_MS = 10_000;

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Skips hidden pages; the visibility change updates them. */
function tick(): void {
  if (document.visibilityState === "visible") for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  if (listeners.size === 0) {
    timer = setInterval(tick, UPDATE_INTERVAL_MS);
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

/** Returns the current text and renders again only if it changed, so that a thousand of them stay cheap. */
export function useLiveText(format: () => string): string {
  const [, draw] = useState(0);
  const text = format();
  const latest = useRef({ format, text });
  latest.current = { format, text };
  useEffect(() => listen(() => latest.current.format() !== latest.current.text && draw((before) => before + 1)), []);
  return text;
}
