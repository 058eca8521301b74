// Lists that the server gives out a page at a time.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useComeBack } from "./asking";
import { Refusal } from "./client";

export interface Page<T> {
  items: T[];
  next?: string | null;
}

export interface Pages<T> {
  items: T[];
  /** Nothing has come yet. */
  first: boolean;
  busy: boolean;
  refusal: Refusal | undefined;
  /** Asks for the next page; undefined if there is none. */
  more: (() => void) | undefined;
  /** Asks for the first page again. */
  again: () => void;
  /** Asks for the first page again, as nobody has told it to: not while something is asked for, nor while a further page is said not to have come. */
  look: () => void;
  /** Asks again for the page that did not come; what is shown already stays. */
  same: () => void;
}

/** What a list begins with, and whether it is more than its first page. */
export interface Start<T> extends Page<T> {
  further: boolean;
}

/** Asks for the first page when `key` changes, and for more when told to. */
export function usePages<T>(key: string, ask: (after: string | undefined, signal: AbortSignal) => Promise<Page<T>>, start?: Start<T>): Pages<T> & { next?: string | null; further: boolean } {
  const [state, setState] = useState<{ items: T[]; next?: string | null; first: boolean; busy: boolean; further: boolean; refusal?: Refusal }>(
    () => (start ? { ...start, first: false, busy: false } : { items: [], first: true, busy: true, further: false }));
  const [wanted, setWanted] = useState<{ after?: string; round: number }>({ round: 0 });
  const latest = useRef(ask);
  latest.current = ask;
  const fresh = useRef(key);
  // Further pages would be gone if the first were asked for again.
  const skips = useRef(start?.further ?? false);
  useEffect(() => {
    const skip = skips.current;
    skips.current = false;
    if (skip) return;
    // A new question begins at its first page, whatever page the old one was at.
    const after = fresh.current === key ? wanted.after : undefined;
    fresh.current = key;
    const controller = new AbortController();
    // That the server can't be reached is said until it can: trying again is no news.
    setState((before) => ({ ...before, busy: true, refusal: before.refusal?.code === "unreachable" ? before.refusal : undefined }));
    latest.current(after, controller.signal).then(
      (page) => !controller.signal.aborted && setState((before) => ({ items: after ? [...before.items, ...page.items] : page.items, next: page.next, first: false, busy: false, further: after !== undefined })),
      (error: unknown) => !controller.signal.aborted && setState((before) => ({ ...before, busy: false, refusal: Refusal.of(error) })),
    );
    return () => controller.abort();
  }, [key, wanted]);
  const again = useCallback(() => setWanted((before) => ({ round: before.round + 1 })), []);
  const same = useCallback(() => setWanted((before) => ({ ...before, round: before.round + 1 })), []);
  const look = () => {
    const missing = state.refusal && wanted.after !== undefined;
    if (!state.busy && !missing) again();
  };
  useComeBack(state.refusal, same);
  const next = state.next;
  const more = next ? () => setWanted((before) => ({ after: next, round: before.round + 1 })) : undefined;
  return { items: state.items, next, further: state.further, first: state.first, busy: state.busy, refusal: state.refusal, more, again, look, same };
}
