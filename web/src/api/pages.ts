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

/** What was loaded, and for which question. */
interface Loaded<T> extends Page<T> {
  of: string;
  first: boolean;
  busy: boolean;
  further: boolean;
  refusal?: Refusal;
}

/** Nothing has come yet. What came for another question is no answer to this one. */
function nothingOf<T>(key: string): Loaded<T> {
  return { items: [], of: key, first: true, busy: true, further: false };
}

/** Asks for the first page when `key` changes, and for more when told to. */
export function usePages<T>(key: string, ask: (after: string | undefined, signal: AbortSignal) => Promise<Page<T>>, start?: Start<T>): Pages<T> & { next?: string | null; further: boolean } {
  const [state, setState] = useState<Loaded<T>>(
    () => (start ? { ...start, of: key, first: false, busy: false } : nothingOf(key)));
  const [wanted, setWanted] = useState<{ of: string; after?: string; round: number }>({ of: key, round: 0 });
  // A new question begins at its first page, whatever page the old one was at.
  const after = wanted.of === key ? wanted.after : undefined;
  const latest = useRef(ask);
  latest.current = ask;
  // Further pages would be gone if the first were asked for again.
  const skips = useRef(start?.further ?? false);
  useEffect(() => {
    const skip = skips.current;
    skips.current = false;
    if (skip) return;
    const controller = new AbortController();
    // That the server can't be reached is said until it can: trying again is no news.
    setState((before) => ({ ...before, busy: true, refusal: before.refusal?.code === "unreachable" ? before.refusal : undefined }));
    latest.current(after, controller.signal).then(
      (page) => !controller.signal.aborted && setState((before) => ({ items: after ? [...before.items, ...page.items] : page.items, next: page.next, of: key, first: false, busy: false, further: after !== undefined })),
      (error: unknown) => !controller.signal.aborted && setState((before) => ({ ...(before.of === key ? before : nothingOf<T>(key)), busy: false, refusal: Refusal.of(error) })),
    );
    return () => controller.abort();
  }, [key, wanted]);
  const wants = (after?: string) => setWanted((before) => ({ of: key, after, round: before.round + 1 }));
  const again = useCallback(() => wants(), [key]);
  const same = useCallback(() => wants(after), [key, after]);
  const look = () => {
    const missing = state.refusal && after !== undefined;
    if (!state.busy && !missing) again();
  };
  useComeBack(state.refusal, same);
  // What follows the last page of another question is no page of this one.
  const next = state.of === key ? state.next : undefined;
  const more = next ? () => wants(next) : undefined;
  return { items: state.items, next, further: state.further, first: state.first, busy: state.busy, refusal: state.refusal, more, again, look, same };
}
