// The display name of a conversation. A missing title is loaded once the element is visible.
import { useEffect, useRef, useState } from "preact/hooks";
import { showBidiControls } from "../bidi";
import { type ConversationRef, isUnnamed, nameOf } from "./names";
import { excerptOf, titleOf } from "./titles";

/** `whole` adds the full name as a tooltip, for places where it may be truncated. */
export function ConversationName({ of, whole = false }: { of: ConversationRef; whole?: boolean }) {
  const element = useRef<HTMLSpanElement>(null);
  const [seen, setSeen] = useState(false);
  const complete = of.title !== undefined && !isUnnamed(of);
  useEffect(() => {
    if (complete || !element.current) return;
    const watch = new IntersectionObserver(
      (entries) => {
        if (!entries.some((one) => one.isIntersecting)) return;
        watch.disconnect();
        setSeen(true);
      },
      { rootMargin: "400px" },
    );
    watch.observe(element.current);
    return () => watch.disconnect();
  }, [of.id, complete]);
  const { name, excerpt } = useConversationName(of, seen);
  return (
    <span ref={element} class={excerpt ? "first-words" : undefined} title={whole ? name : undefined}>
      {name}
    </span>
  );
}

/** The name in quotation marks, for use within a sentence. Excerpts have quotation marks already. */
export function QuotedName({ of }: { of: ConversationRef }) {
  const { name, excerpt } = useConversationName(of);
  return <span title={name}>{excerpt ? name : `“${name}”`}</span>;
}

/**
 * Returns the name, and whether it is an excerpt of the first message because there is no title. Loads missing data
 * only if `asks` is set.
 */
export function useConversationName(of: ConversationRef, load = true): { name: string; excerpt: boolean } {
  const [found, setFound] = useState<{ id: string; title: string; excerpt: string }>();
  useEffect(() => {
    if (!load || (of.title !== undefined && !isUnnamed(of))) return;
    let mounted = true;
    const loadName = async () => {
      const title = of.title ?? (of.title === null ? "" : await titleOf(of.id));
      const excerpt = isUnnamed({ id: of.id, title }) ? await excerptOf(of.id) : "";
      if (mounted) setFound({ id: of.id, title, excerpt });
    };
    // If loading fails, the id stays the name.
    loadName().catch(() => undefined);
    return () => {
      mounted = false;
    };
  }, [of.id, of.title, load]);
  const current = found?.id === of.id ? found : undefined;
  const named = { id: of.id, title: of.title ?? current?.title };
  if (isUnnamed(named) && current?.excerpt) return { name: `“${showBidiControls(current.excerpt)}”`, excerpt: true };
  return { name: nameOf(named), excerpt: false };
}
