// Ctrl-S, or Cmd-S, wherever the focus is. Of several who listen, the one who came last is asked: a dialog before its view.
const listeners: (() => void)[] = [];

export function onSaveKey(then: () => void): () => void {
  if (listeners.length === 0) addEventListener("keydown", pressed);
  listeners.push(then);
  return () => {
    listeners.splice(listeners.indexOf(then), 1);
    if (listeners.length === 0) removeEventListener("keydown", pressed);
  };
}

function pressed(event: KeyboardEvent): void {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "s") return;
  event.preventDefault();
  listeners.at(-1)?.();
}
