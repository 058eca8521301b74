// Names that nobody else gives.

/** A name of a message, or of a conversation. */
export function fresh(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(13));
  return `${prefix}-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
