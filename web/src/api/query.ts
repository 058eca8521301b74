// A server query as component state: loading, loaded or failed. The query runs again when its key changes.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./client";

export interface Query<T> {
  /** The latest result. It stays while a newer one loads, so that the layout does not jump. */
  value: T | undefined;
  error: ApiError | undefined;
  busy: boolean;
  reload: () => void;
}

/** Runs the query when `key` changes and on `reload`. Drops results that a newer request has superseded. */
export function useQuery<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Query<T> {
  const [state, setState] = useState<{ key: string | null; value?: T; error?: ApiError; busy: boolean }>({
    key: null,
    busy: true,
  });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    if (key === null) return;
    const controller = new AbortController();
    setState((before) => ({ ...before, busy: true }));
    latest
      .current(controller.signal)
      .then((value) => !controller.signal.aborted && setState({ key, value, busy: false }))
      .catch((thrown: unknown) => {
        if (controller.signal.aborted) return;
        const error = ApiError.of(thrown);
        setState((before) => ({ key, value: before.key === key ? before.value : undefined, error, busy: false }));
      });
    return () => controller.abort();
  }, [key, round]);
  const reload = useCallback(() => setRound((round) => round + 1), []);
  useRetry(state.error, reload);
  return { value: state.value, error: state.error, busy: state.busy, reload };
}

/** Delay before a request to an unreachable server is retried. */
const RETRY_DELAY_MS = 4000;

/**
 * Retries while the server is unreachable: after a delay, and as soon as the browser is back online. Each failure is a
 * new error object and restarts the delay.
 */
export function useRetry(error: ApiError | undefined, reload: () => void): void {
  useEffect(() => {
    if (error?.code !== "unreachable") return;
    const timer = setTimeout(reload, RETRY_DELAY_MS);
    addEventListener("online", reload);
    return () => {
      clearTimeout(timer);
      removeEventListener("online", reload);
    };
  }, [error, reload]);
}

/** Calls `then` every `ms` while the page is visible. */
export function useInterval(ms: number, then: () => void): void {
  const latest = useRef(then);
  latest.current = then;
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && latest.current(), ms);
    return () => clearInterval(timer);
  }, [ms]);
}

/** Debounces: returns `value` once it has not changed for `ms`. */
export function useDebounced<T>(value: T, ms: number): T {
  const [debounced, setDebounced] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return debounced;
}
