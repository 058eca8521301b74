// Ctrl-S or Cmd-S anywhere on the page. Only the listener registered last is called: a dialog takes precedence over its
// view.
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
