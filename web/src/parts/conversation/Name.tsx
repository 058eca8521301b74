// The name of a conversation, the same wherever it stands. What is not known of it is asked for once it can be seen.
import { useEffect, useRef, useState } from "preact/hooks";
import { visible } from "../visible";
import { type Called, isNameless, nameOf } from "./names";
import { firstWordsOf, titleOf } from "./titles";

/** `whole`: all of it shows under the pointer, for where there may not be room. */
export function Name({ of, whole = false }: { of: Called; whole?: boolean }) {
  const place = useRef<HTMLSpanElement>(null);
  const [seen, setSeen] = useState(false);
  const complete = of.title !== undefined && !isNameless(of);
  useEffect(() => {
    if (complete || !place.current) return;
    const watch = new IntersectionObserver((entries) => {
      if (!entries.some((one) => one.isIntersecting)) return;
      watch.disconnect();
      setSeen(true);
    }, { rootMargin: "400px" });
    watch.observe(place.current);
    return () => watch.disconnect();
  }, [of.id, complete]);
  const { name, words } = useName(of, seen);
  return <span ref={place} class={words ? "first-words" : undefined} title={whole ? name : undefined}>{name}</span>;
}

/** The name in quotation marks, within a sentence. First words stand in theirs already. */
export function Quoted({ of }: { of: Called }) {
  const { name, words } = useName(of);
  return <span title={name}>{words ? name : `“${name}”`}</span>;
}

/** The name as text, and whether it is the first words for want of a title. It is the best that is known until `asks`. */
export function useName(of: Called, asks = true): { name: string; words: boolean } {
  const [found, setFound] = useState<{ id: string; title: string; words: string }>();
  useEffect(() => {
    if (!asks || (of.title !== undefined && !isNameless(of))) return;
    let here = true;
    const find = async () => {
      const title = of.title ?? (of.title === null ? "" : await titleOf(of.id));
      const words = isNameless({ id: of.id, title }) ? await firstWordsOf(of.id) : "";
      if (here) setFound({ id: of.id, title, words });
    };
    // What can't be read has its id for a name.
    find().catch(() => undefined);
    return () => {
      here = false;
    };
  }, [of.id, of.title, asks]);
  const known = found?.id === of.id ? found : undefined;
  const called = { id: of.id, title: of.title ?? known?.title };
  if (isNameless(called) && known?.words) return { name: `“${visible(known.words)}”`, words: true };
  return { name: nameOf(called), words: false };
}
