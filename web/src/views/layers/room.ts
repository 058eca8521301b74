// How many characters are left while a layer is written, counted as the server counts them.

export interface Limits {
  /** What this layer may have. */
  layer: number | null | undefined;
  /** What all layers together may still grow by, with the stored text in place. */
  remaining: number | null | undefined;
  /** How many characters the stored text has. */
  stored: number;
}

export interface Room {
  chars: number;
  /** Left for this layer alone; below 0 it is too long. */
  inLayer: number | undefined;
  /** Left in all layers together. */
  inAll: number | undefined;
  /** By how many characters it is too long, for whichever reason is worse. */
  over: number;
  blank: boolean;
}

/** A text as it is stored: no empty lines before it, no blanks behind it. */
export function asStored(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(/^\n+/, "").trimEnd();
}

export function characters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

export function roomFor(text: string, limits: Limits): Room {
  const chars = characters(asStored(text));
  const inLayer = limits.layer == null ? undefined : limits.layer - chars;
  const inAll = limits.remaining == null ? undefined : limits.remaining + limits.stored - chars;
  return { chars, inLayer, inAll, over: Math.max(0, -(inLayer ?? 0), -(inAll ?? 0)), blank: chars === 0 };
}
