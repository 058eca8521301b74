// Short words about something that was just done, in a corner, read out to whoever listens.
import { useEffect, useState } from "preact/hooks";
import { Refusal } from "../api/client";
import { Ticked } from "./ticked";
import { sentence } from "./told";

interface Toast {
  id: number;
  text: string;
  kind: "good" | "bad";
}

let next = 1;
let shown: Toast[] = [];
const listeners = new Set<(toasts: Toast[]) => void>();

function show(toasts: Toast[]): void {
  shown = toasts;
  for (const listener of listeners) listener(toasts);
}

/** Answers the way to take it back before its time. */
export function toast(text: string, kind: "good" | "bad" = "good"): () => void {
  const id = next++;
  const dismiss = () => show(shown.filter((toast) => toast.id !== id));
  show([...shown, { id, text, kind }]);
  setTimeout(dismiss, kind === "bad" ? 12_000 : 5_000);
  return dismiss;
}

/** That something failed: what happened, and what to try. */
export function toastRefusal(error: unknown): void {
  const { message, help } = Refusal.of(error);
  toast([message, help].flatMap((words) => (words ? sentence(words) : [])).join(" "), "bad");
}

export function Toasts() {
  const [toasts, setToasts] = useState(shown);
  useEffect(() => {
    listeners.add(setToasts);
    return () => void listeners.delete(setToasts);
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.map((toast) => (
        <p key={toast.id} class={toast.kind}>
          <Ticked words={toast.text} /> <button class="plain" aria-label="Dismiss" onClick={() => show(shown.filter((one) => one !== toast))}>×</button>
        </p>
      ))}
    </div>
  );
}
