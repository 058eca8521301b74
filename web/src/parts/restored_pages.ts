// A paginated list that restores its pages and scroll position when the user navigates back.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Page, type Pages, type Start, usePages } from "../api/pages";
import { entry } from "../shell/router";
import { BoundedCache } from "./bounded_cache";

/** The number of remembered lists; bounds the memory of a tab that stays open for weeks. */
const MAX_LISTS = 20;

/** Loaded pages and scroll positions, in memory only. */
const saved = new BoundedCache<Start<unknown> & { scroll: number }>(MAX_LISTS);

export function useRestoredPages<T>(
  key: string,
  load: (after: string | undefined, signal: AbortSignal) => Promise<Page<T>>,
): Pages<T> {
  const name = `${entry()} ${key}`;
  const [restored] = useState(() => saved.get(name));
  const pages = usePages(key, load, restored as Start<T> | undefined);
  const { items, next, further } = pages;
  const scroll = useRef(restored?.scroll ?? 0);
  useLayoutEffect(() => {
    if (restored) scrollTo(0, restored.scroll);
  }, []);
  useEffect(() => {
    if (!pages.first) saved.set(name, { items, next, further, scroll: scroll.current });
  }, [name, items, next]);
  useLayoutEffect(() => {
    const scrolled = () => {
      // The browser scrolls for the next history entry before this component unmounts.
      if (`${entry()} ${key}` !== name) return;
      scroll.current = scrollY;
      const kept = saved.get(name);
      if (kept) kept.scroll = scrollY;
    };
    addEventListener("scroll", scrolled, { passive: true });
    return () => removeEventListener("scroll", scrolled);
  }, [name]);
  return pages;
}
