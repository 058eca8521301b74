// Moves the focus with the up and down keys and stops at both ends.
export function moveFocus(selector: string, event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>(selector)];
  const at = all.indexOf(document.activeElement as HTMLElement);
  const to = all[at + by];
  if (by === 0 || at < 0 || !to) return;
  event.preventDefault();
  // Do not centre elements that are taller than the window.
  to.focus({ preventScroll: true });
  to.scrollIntoView({ block: "nearest" });
}
