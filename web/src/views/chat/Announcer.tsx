// Tells whoever listens instead of looking: the answer once it is whole, not every word, and what holds it up.
import { useEffect, useRef, useState } from "preact/hooks";
import { type Talk, running } from "../../parts/talk/fold";

export function Announcer({ talk, agent }: { talk: Talk; agent: string }) {
  const [words, setWords] = useState("");
  const followed = useRef<string | undefined>(undefined);
  const now = running(talk);
  const ended = talk.turns.find((turn) => turn.id === followed.current && turn.outcome !== undefined);
  useEffect(() => {
    if (now) followed.current = now.id;
    if (!ended) return;
    followed.current = now?.id;
    const said = ended.parts.flatMap((part) => (part.kind === "words" ? [part.text] : [])).join("\n");
    setWords(ended.outcome === "done" ? `${agent} says: ${said}` : `The answer ${ended.outcome === "cancelled" ? "was stopped" : "failed"}. ${ended.error ?? ""}`);
  }, [now?.id, ended]);
  useEffect(() => {
    if (now?.status) setWords(now.status);
  }, [now?.status]);
  return <div class="visually-hidden" aria-live="polite" role="status" data-announcer>{words}</div>;
}
