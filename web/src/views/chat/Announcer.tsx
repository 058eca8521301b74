// A live region for screen readers: announces the complete answer instead of every word, and what delays it.
import { useEffect, useRef, useState } from "preact/hooks";
import { type ConversationState, runningTurn } from "../../parts/messages/reducer";

export function Announcer({ state, agent }: { state: ConversationState; agent: string }) {
  const [words, setWords] = useState("");
  const followed = useRef<string | undefined>(undefined);
  const now = runningTurn(state);
  const ended = state.turns.find((turn) => turn.id === followed.current && turn.outcome !== undefined);
  useEffect(() => {
    if (now) followed.current = now.id;
    if (!ended) return;
    followed.current = now?.id;
    const said = ended.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n");
    setWords(
      ended.outcome === "done"
        ? `${agent} says: ${said}`
        : `The answer ${ended.outcome === "cancelled" ? "was stopped" : "failed"}. ${ended.error ?? ""}`,
    );
  }, [now?.id, ended]);
  useEffect(() => {
    if (now?.status) setWords(now.status);
  }, [now?.status]);
  return (
    <div class="visually-hidden" aria-live="polite" role="status" data-announcer>
      {words}
    </div>
  );
}
