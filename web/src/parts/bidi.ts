// Makes bidirectional control characters visible, because they can make a text look like another one.

// Embeddings, overrides and isolates, with their terminators. Hebrew and Arabic do not need them.
export const BIDI_CONTROLS = /[\u202A-\u202E\u2066-\u2069]/g;

/** For display only: offsets refer to the original text. */
export function showBidiControls(text: string): string {
  return text.replace(BIDI_CONTROLS, (mark) => codePointName(mark.charCodeAt(0)));
}

export function codePointName(code: number): string {
  return `⟪U+${code.toString(16).toUpperCase()}⟫`;
}
