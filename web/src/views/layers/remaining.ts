// Counts the remaining characters of a layer the way the server does.

export interface Limits {
  /** The size limit of this layer. */
  layer: number | null | undefined;
  /** How much all layers together may still grow, with the stored text counted. */
  remaining: number | null | undefined;
  /** The length of the stored text in characters. */
  stored: number;
}

export interface Remaining {
  chars: number;
  /** What remains for this layer; negative if it is too long. */
  inLayer: number | undefined;
  /** What remains for all layers together. */
  inAll: number | undefined;
  /** By how many characters the text exceeds the stricter limit. */
  over: number;
  blank: boolean;
}

/** Normalises a text as the server stores it: no leading empty lines, no trailing blanks. */
export function normalized(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(/^\n+/, "").trimEnd();
}

export function characters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

export function remainingFor(text: string, limits: Limits): Remaining {
  const chars = characters(normalized(text));
  const inLayer = limits.layer == null ? undefined : limits.layer - chars;
  const inAll = limits.remaining == null ? undefined : limits.remaining + limits.stored - chars;
  return { chars, inLayer, inAll, over: Math.max(0, -(inLayer ?? 0), -(inAll ?? 0)), blank: chars === 0 };
}
