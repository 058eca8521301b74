// A list that grows by pages, with its empty state, its failure and its way to more.
import type { ComponentChildren } from "preact";
import type { Pages } from "../api/pages";
import { Busy, Told } from "./told";

export function Listed<T>({ pages, empty, what, children }: { pages: Pages<T>; empty: ComponentChildren; what?: string; children: (items: T[]) => ComponentChildren }) {
  if (pages.first && pages.refusal) return <Told refusal={pages.refusal} again={pages.again} />;
  if (pages.first) return <Busy what={what} />;
  return (
    <>
      {pages.items.length === 0 ? empty : children(pages.items)}
      {pages.refusal && <Told refusal={pages.refusal} again={pages.again} />}
      {pages.more && <p class="more"><button onClick={pages.more} disabled={pages.busy}>{pages.busy ? "One moment …" : "Show more"}</button></p>}
    </>
  );
}

export function Search({ value, label, onInput }: { value: string; label: string; onInput: (value: string) => void }) {
  return <input class="search" type="search" aria-label={label} placeholder={label} value={value} onInput={(event) => onInput(event.currentTarget.value)} />;
}
