// Random ids.

/** Creates an id for a message or a conversation. */
export function newId(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(13));
  return `${prefix}-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
