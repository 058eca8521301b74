// What is half written in a place, kept for the tab.

const KEY = "foreword.draft.";

export function halfWritten(place: string): string {
  return sessionStorage.getItem(KEY + place) ?? "";
}

export function keepHalfWritten(place: string, text: string): void {
  if (text) sessionStorage.setItem(KEY + place, text);
  else sessionStorage.removeItem(KEY + place);
}

/** One goes on writing in another place. */
export function moveHalfWritten(from: string, to: string): void {
  const text = halfWritten(from);
  if (!text) return;
  keepHalfWritten(to, text);
  keepHalfWritten(from, "");
}
