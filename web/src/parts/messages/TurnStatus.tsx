// The status of a turn. Counts down if the text announces a wait.
import { useEffect, useState } from "preact/hooks";

const WAIT = /\bin (\d+(?:\.\d+)?) ?(ms|s|m)\b(?:\.\.\.)?/;
const SECONDS: Record<string, number> = { ms: 0.001, s: 1, m: 60 };

/** Returns the announced wait in seconds, if there is one. */
export function parseWait(text: string): number | undefined {
  const found = WAIT.exec(text);
  return found ? Number(found[1]) * (SECONDS[found[2] ?? "s"] ?? 1) : undefined;
}

/** The status text with `left` seconds remaining. */
export function withRemaining(text: string, left: number): string {
  return text.replace(WAIT, left > 0 ? `in ${Math.ceil(left)} s` : "now …");
}

export function TurnStatus({ text }: { text: string }) {
  const wait = parseWait(text);
  const [began, setBegan] = useState(Date.now);
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    setBegan(Date.now());
    setNow(Date.now());
    if (wait === undefined) return;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [text]);
  const shown = wait === undefined ? text : withRemaining(text, wait - Math.max(0, now - began) / 1000);
  // The countdown is not announced to screen readers.
  return (
    <p class="status">
      <span class="spinner" aria-hidden="true" /> <span>{shown}</span>
    </p>
  );
}
