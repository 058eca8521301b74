// Up and down go from one to the next of what has the focus, and stop at the ends.
export function stepAmong(selector: string, event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>(selector)];
  const at = all.indexOf(document.activeElement as HTMLElement);
  const to = all[at + by];
  if (by === 0 || at < 0 || !to) return;
  event.preventDefault();
  // Something taller than the window is not scrolled to its middle.
  to.focus({ preventScroll: true });
  to.scrollIntoView({ block: "nearest" });
}
