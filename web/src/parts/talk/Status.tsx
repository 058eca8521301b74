// How a turn goes, as the server says it. A wait that it tells is counted down.
import { useEffect, useState } from "preact/hooks";

const WAIT = /\bin (\d+(?:\.\d+)?) ?(ms|s|m)\b(?:\.\.\.)?/;
const SECONDS: Record<string, number> = { ms: 0.001, s: 1, m: 60 };

/** The seconds that a status tells to wait, if it does. */
export function waitIn(text: string): number | undefined {
  const found = WAIT.exec(text);
  return found ? Number(found[1]) * (SECONDS[found[2] ?? "s"] ?? 1) : undefined;
}

/** The same status when so many seconds are left. */
export function statusAt(text: string, left: number): string {
  return text.replace(WAIT, left > 0 ? `in ${Math.ceil(left)} s` : "now …");
}

export function Status({ text }: { text: string }) {
  const wait = waitIn(text);
  const [began, setBegan] = useState(Date.now);
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    setBegan(Date.now());
    setNow(Date.now());
    if (wait === undefined) return;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [text]);
  const shown = wait === undefined ? text : statusAt(text, wait - Math.max(0, now - began) / 1000);
  // What is read out stays the same while it counts.
  return <p class="status"><span class="spinner" aria-hidden="true" /> <span>{shown}</span></p>;
}
