// A question to the server as a component sees it: under way, answered, or refused; asked again when its key changes.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { Refusal } from "./client";

export interface Asking<T> {
  /** The latest answer; stays while a newer one is under way, so that nothing jumps. */
  value: T | undefined;
  refusal: Refusal | undefined;
  busy: boolean;
  again: () => void;
}

/** Asks when `key` changes, and again when told to. An answer that was overtaken is dropped. */
export function useAsking<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>): Asking<T> {
  const [state, setState] = useState<{ key: string | null; value?: T; refusal?: Refusal; busy: boolean }>({ key: null, busy: true });
  const [round, setRound] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    if (key === null) return;
    const controller = new AbortController();
    setState((before) => ({ ...before, busy: true }));
    latest
      .current(controller.signal)
      .then((value) => !controller.signal.aborted && setState({ key, value, busy: false }))
      .catch((error: unknown) => {
        if (controller.signal.aborted) return;
        const refusal = Refusal.of(error);
        setState((before) => ({ key, value: before.key === key ? before.value : undefined, refusal, busy: false }));
      });
    return () => controller.abort();
  }, [key, round]);
  const again = useCallback(() => setRound((round) => round + 1), []);
  useComeBack(state.refusal, again);
  return { value: state.value, refusal: state.refusal, busy: state.busy, again };
}

/** How long a server that can't be reached is left alone. */
const COME_BACK_MS = 4000;

/** Tries again while the server can't be reached: after a while, and as soon as the network is back. Each failure is a new refusal, and begins a new wait. */
export function useComeBack(refusal: Refusal | undefined, again: () => void): void {
  useEffect(() => {
    if (refusal?.code !== "unreachable") return;
    const timer = setTimeout(again, COME_BACK_MS);
    addEventListener("online", again);
    return () => {
      clearTimeout(timer);
      removeEventListener("online", again);
    };
  }, [refusal, again]);
}

/** Calls `then` every `ms` while the page can be seen. */
export function useEvery(ms: number, then: () => void): void {
  const latest = useRef(then);
  latest.current = then;
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && latest.current(), ms);
    return () => clearInterval(timer);
  }, [ms]);
}

/** `value`, once it has not changed for `ms`. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
