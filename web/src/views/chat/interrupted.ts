// Whether an answer stands still because the server was interrupted: it takes its turns up again only when the lease of the one
// that ended has run out.
import { useEffect, useRef, useState } from "preact/hooks";
import type { LineState } from "./line";

/** How long the line is back before silence means something. */
const SILENT_MS = 5_000;

/** `last` is the number of the last thing that was heard. */
export function useInterrupted(line: LineState, last: number): boolean {
  const [since, setSince] = useState<number>();
  const [silent, setSilent] = useState(false);
  const before = useRef(line);
  useEffect(() => {
    if (before.current === "lost" && line === "open") setSince(last);
    if (line === "lost") setSince(undefined);
    before.current = line;
  }, [line]);
  useEffect(() => {
    setSilent(false);
    if (since === undefined) return;
    if (last !== since) return setSince(undefined);
    const timer = setTimeout(() => setSilent(true), SILENT_MS);
    return () => clearTimeout(timer);
  }, [since, last]);
  return silent;
}
