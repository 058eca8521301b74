// Detects a turn that stalls because the server was restarted: the turn resumes only when the lease of the stopped
// process expires.
import { useEffect, useRef, useState } from "preact/hooks";
import type { SocketState } from "./socket";

/** How long after reconnecting silence counts as a stall. */
const STALL_TIMEOUT_MS = 5_000;

/** `last` is the last sequence number received. */
export function useInterrupted(connection: SocketState, last: number): boolean {
  const [since, setSince] = useState<number>();
  const [stalled, setStalled] = useState(false);
  const before = useRef(connection);
  useEffect(() => {
    if (before.current === "lost" && connection === "open") setSince(last);
    if (connection === "lost") setSince(undefined);
    before.current = connection;
  }, [connection]);
  useEffect(() => {
    setStalled(false);
    if (since === undefined) return;
    if (last !== since) return setSince(undefined);
    const timer = setTimeout(() => setStalled(true), STALL_TIMEOUT_MS);
    return () => clearTimeout(timer);
  }, [since, last]);
  return stalled;
}
