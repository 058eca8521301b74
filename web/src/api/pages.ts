// Paginated lists.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./client";
import { useRetry } from "./query";

export interface Page<T> {
  items: T[];
  next?: string | null;
}

export interface Pages<T> {
  items: T[];
  /** No page has loaded yet. */
  first: boolean;
  busy: boolean;
  error: ApiError | undefined;
  /** Loads the next page; undefined on the last page. */
  more: (() => void) | undefined;
  /** Reloads from the first page. */
  reload: () => void;
  /**
   * Refreshes the first page in the background: skipped while a request is running or while the error of a later page
   * is shown.
   */
  refresh: () => void;
  /** Retries the page that failed; loaded items stay. */
  retry: () => void;
}

/** The initial content of a list, and whether it spans more than the first page. */
export interface Start<T> extends Page<T> {
  further: boolean;
}

/** The loaded items and the key they belong to. */
interface Loaded<T> extends Page<T> {
  of: string;
  first: boolean;
  busy: boolean;
  further: boolean;
  error?: ApiError;
}

/** The empty state. Items of another key are never shown for this one. */
function emptyList<T>(key: string): Loaded<T> {
  return { items: [], of: key, first: true, busy: true, further: false };
}

/** Loads the first page when `key` changes, and further pages on request. */
export function usePages<T>(
  key: string,
  load: (after: string | undefined, signal: AbortSignal) => Promise<Page<T>>,
  start?: Start<T>,
): Pages<T> & { next?: string | null; further: boolean } {
  const [state, setState] = useState<Loaded<T>>(() =>
    start ? { ...start, of: key, first: false, busy: false } : emptyList(key),
  );
  const [requested, setRequested] = useState<{ of: string; after?: string; round: number }>({ of: key, round: 0 });
  // A new key starts at its first page.
  const after = requested.of === key ? requested.after : undefined;
  const latest = useRef(load);
  latest.current = load;
  // Reloading the first page would drop the restored further pages.
  const skipNext = useRef(start?.further ?? false);
  useEffect(() => {
    const skip = skipNext.current;
    skipNext.current = false;
    if (skip) return;
    const controller = new AbortController();
    // The "unreachable" error stays visible during retries.
    setState((before) => ({
      ...before,
      busy: true,
      error: before.error?.code === "unreachable" ? before.error : undefined,
    }));
    latest.current(after, controller.signal).then(
      (page) =>
        !controller.signal.aborted &&
        setState((before) => ({
          items: after ? [...before.items, ...page.items] : page.items,
          next: page.next,
          of: key,
          first: false,
          busy: false,
          further: after !== undefined,
        })),
      (error: unknown) =>
        !controller.signal.aborted &&
        setState((before) => ({
          ...(before.of === key ? before : emptyList<T>(key)),
          busy: false,
          error: ApiError.of(error),
        })),
    );
    return () => controller.abort();
  }, [key, requested]);
  const request = (after?: string) => setRequested((before) => ({ of: key, after, round: before.round + 1 }));
  const reload = useCallback(() => request(), [key]);
  const retry = useCallback(() => request(after), [key, after]);
  const refresh = () => {
    const missing = state.error && after !== undefined;
    if (!state.busy && !missing) reload();
  };
  useRetry(state.error, retry);
  // A cursor of another key is not valid here.
  const next = state.of === key ? state.next : undefined;
  const more = next ? () => request(next) : undefined;
  return {
    items: state.items,
    next,
    further: state.further,
    first: state.first,
    busy: state.busy,
    error: state.error,
    more,
    reload,
    refresh,
    retry,
  };
}
