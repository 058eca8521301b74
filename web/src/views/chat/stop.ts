// Stops the running turn, by a button or by Escape.
import { useEffect, useState } from "preact/hooks";
import { toastError } from "../../parts/toast";

export function useStop(turn: string | undefined, ask: (request: { type: "cancel" }) => Promise<unknown>) {
  const [stopped, setStopped] = useState<string>();
  const stop = () => {
    if (!turn) return;
    setStopped(turn);
    ask({ type: "cancel" }).catch((error: unknown) => {
      setStopped(undefined);
      toastError(error);
    });
  };
  useEffect(() => {
    if (!turn) return;
    const pressed = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open]")) stop();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [turn]);
  return { stop, stopping: turn !== undefined && stopped === turn };
}
