// A paginated list with its loading, empty and error states.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Pages } from "../api/pages";
import { ErrorNotice, Loading } from "./states";

export function PagedList<T>({
  pages,
  empty,
  what,
  children,
}: {
  pages: Pages<T>;
  empty: ComponentChildren;
  what?: string;
  children: (items: T[]) => ComponentChildren;
}) {
  if (pages.first && pages.error) return <ErrorNotice error={pages.error} reload={pages.reload} />;
  if (pages.first) return <Loading what={what} />;
  return (
    <>
      {pages.items.length === 0 ? empty : children(pages.items)}
      {pages.error && <ErrorNotice error={pages.error} reload={pages.retry} />}
      {pages.more && (
        <p class="more">
          <button type="button" onClick={pages.more} disabled={pages.busy}>
            {pages.busy ? "One moment …" : "Show more"}
          </button>
        </p>
      )}
    </>
  );
}

export function SearchField({
  value,
  label,
  onInput,
}: {
  value: string;
  label: string;
  onInput: (value: string) => void;
}) {
  return (
    <input
      class="search"
      type="search"
      aria-label={label}
      placeholder={label}
      value={value}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  );
}

/** Debounce interval between typing and updating the URL. */
const DEBOUNCE_MS = 250;

/** State of a search field, synchronised with the URL. The URL is the source of the query. */
export function useSearchField(address: string, update: (words: string) => void): [string, (words: string) => void] {
  const [words, setWords] = useState(address);
  const current = useRef(address);
  const latest = useRef(update);
  latest.current = update;
  useEffect(() => {
    if (address === current.current) return;
    current.current = address;
    setWords(address);
  }, [address]);
  useEffect(() => {
    const trimmed = words.trim();
    if (trimmed === current.current) return;
    const timer = setTimeout(() => {
      current.current = trimmed;
      latest.current(trimmed);
    }, DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [words]);
  return [words, setWords];
}
