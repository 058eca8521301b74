// Toast notifications, announced to screen readers.
import { useEffect, useState } from "preact/hooks";
import { ApiError } from "../api/client";
import { CodeText } from "./code_text";
import { sentence } from "./states";

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

/** Shows a toast and returns a function that dismisses it early. */
export function toast(text: string, kind: "good" | "bad" = "good"): () => void {
  const id = next++;
  const dismiss = () => show(shown.filter((toast) => toast.id !== id));
  show([...shown, { id, text, kind }]);
  setTimeout(dismiss, kind === "bad" ? 12_000 : 5_000);
  return dismiss;
}

/** Shows the message and the suggestion of an error. */
export function toastError(error: unknown): void {
  const { message, help } = ApiError.of(error);
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
          <CodeText words={toast.text} />{" "}
          <button
            type="button"
            class="plain"
            aria-label="Dismiss"
            onClick={() => show(shown.filter((one) => one !== toast))}
          >
            ×
          </button>
        </p>
      ))}
    </div>
  );
}
