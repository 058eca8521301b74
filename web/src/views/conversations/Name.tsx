// The name of a conversation; of one without a title its first words, asked for once it can be seen.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, asked } from "../../api/client";
import type { ConversationBody } from "../../api/schema";
import { wordsOf } from "../../parts/talk/parts";
import { isNameless, nameOf } from "./names";

const known = new Map<string, Promise<string>>();

async function firstWords(id: string): Promise<string> {
  const page = await asked(api.GET("/api/v1/conversations/{id}/messages", { params: { path: { id }, query: { all: true, limit: 1 } } }));
  const first = page.items[0];
  return first ? wordsOf(first).replace(/\s+/g, " ").slice(0, 120) : "";
}

export function Name({ of }: { of: Pick<ConversationBody, "id" | "title"> }) {
  const [words, setWords] = useState("");
  const place = useRef<HTMLSpanElement>(null);
  const nameless = isNameless(of);
  useEffect(() => {
    if (!nameless || !place.current) return;
    const watch = new IntersectionObserver((seen) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      watch.disconnect();
      const asking = known.get(of.id) ?? firstWords(of.id);
      known.set(of.id, asking);
      // What can't be read has its id for a name.
      asking.then(setWords, () => known.delete(of.id));
    });
    watch.observe(place.current);
    return () => watch.disconnect();
  }, [of.id, nameless]);
  return <span ref={place} class={words ? "first-words" : undefined}>{nameless && words ? `“${words}”` : nameOf(of)}</span>;
}
