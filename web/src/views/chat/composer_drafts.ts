// Unsent drafts, kept for the tab.

const KEY = "foreword.draft.";

export function readDraft(draftKey: string): string {
  return sessionStorage.getItem(KEY + draftKey) ?? "";
}

export function saveDraft(draftKey: string, text: string): void {
  if (text) sessionStorage.setItem(KEY + draftKey, text);
  else sessionStorage.removeItem(KEY + draftKey);
}

/** Moves a draft to another key. */
export function moveDraft(from: string, to: string): void {
  const text = readDraft(from);
  if (!text) return;
  saveDraft(to, text);
  saveDraft(from, "");
}
