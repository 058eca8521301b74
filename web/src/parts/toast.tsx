// Short words about something that was just done, in a corner, read out to whoever listens.
import { useEffect, useState } from "preact/hooks";

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
          {toast.text} <button class="plain" aria-label="Dismiss" onClick={() => show(shown.filter((one) => one !== toast))}>×</button>
        </p>
      ))}
    </div>
  );
}
