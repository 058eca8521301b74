// Characters that change the direction of what is written, made visible: whoever writes them can make a text look like another one.

// Embeddings, overrides and isolates, with the marks that end them. Hebrew and Arabic are written without them.
export const TURNING = /[\u202A-\u202E\u2066-\u2069]/g;

/** For display only: places in a text are counted in the text itself. */
export function visible(text: string): string {
  return text.replace(TURNING, (mark) => named(mark.charCodeAt(0)));
}

export function named(code: number): string {
  return `⟪U+${code.toString(16).toUpperCase()}⟫`;
}
