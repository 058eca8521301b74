// A list that grows by pages, with its empty state, its failure and its way to more.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Pages } from "../api/pages";
import { Busy, Told } from "./told";

export function Listed<T>({ pages, empty, what, children }: { pages: Pages<T>; empty: ComponentChildren; what?: string; children: (items: T[]) => ComponentChildren }) {
  if (pages.first && pages.refusal) return <Told refusal={pages.refusal} again={pages.again} />;
  if (pages.first) return <Busy what={what} />;
  return (
    <>
      {pages.items.length === 0 ? empty : children(pages.items)}
      {pages.refusal && <Told refusal={pages.refusal} again={pages.same} />}
      {pages.more && <p class="more"><button onClick={pages.more} disabled={pages.busy}>{pages.busy ? "One moment …" : "Show more"}</button></p>}
    </>
  );
}

export function Search({ value, label, onInput }: { value: string; label: string; onInput: (value: string) => void }) {
  return <input class="search" type="search" aria-label={label} placeholder={label} value={value} onInput={(event) => onInput(event.currentTarget.value)} />;
}

/** How long nobody has typed before the address says what is searched for. */
const TYPED_MS = 250;

/** The words in a search field, which follow the address and are told to it. What is asked for is what the address says. */
export function useSearched(address: string, tell: (words: string) => void): [string, (words: string) => void] {
  const [words, setWords] = useState(address);
  const said = useRef(address);
  const latest = useRef(tell);
  latest.current = tell;
  useEffect(() => {
    if (address === said.current) return;
    said.current = address;
    setWords(address);
  }, [address]);
  useEffect(() => {
    const wanted = words.trim();
    if (wanted === said.current) return;
    const timer = setTimeout(() => {
      said.current = wanted;
      latest.current(wanted);
    }, TYPED_MS);
    return () => clearTimeout(timer);
  }, [words]);
  return [words, setWords];
}
