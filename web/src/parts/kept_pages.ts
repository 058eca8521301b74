// A list that somebody comes back to: as many pages as there were, at the same place.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Page, type Pages, type Start, usePages } from "../api/pages";
import { entry } from "../shell/router";
import { Latest } from "./latest";

/** As many lists as somebody may go back through. A tab that is open for weeks must not keep every list it ever showed. */
const MOST = 20;

/** What was loaded and how far down one was. Gone with the tab. */
const left = new Latest<Start<unknown> & { scroll: number }>(MOST);

export function useKeptPages<T>(key: string, ask: (after: string | undefined, signal: AbortSignal) => Promise<Page<T>>): Pages<T> {
  const name = `${entry()} ${key}`;
  const [back] = useState(() => left.get(name));
  const pages = usePages(key, ask, back as Start<T> | undefined);
  const { items, next, further } = pages;
  const scroll = useRef(back?.scroll ?? 0);
  useLayoutEffect(() => {
    if (back) scrollTo(0, back.scroll);
  }, []);
  useEffect(() => {
    if (!pages.first) left.keep(name, { items, next, further, scroll: scroll.current });
  }, [name, items, next]);
  useLayoutEffect(() => {
    const scrolled = () => {
      // The browser scrolls for the next place before this one is gone.
      if (`${entry()} ${key}` !== name) return;
      scroll.current = scrollY;
      const kept = left.get(name);
      if (kept) kept.scroll = scrollY;
    };
    addEventListener("scroll", scrolled, { passive: true });
    return () => removeEventListener("scroll", scrolled);
  }, [name]);
  return pages;
}
