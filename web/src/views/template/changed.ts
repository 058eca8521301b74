// Where a rendered text began to differ from the one before, so that the preview can show what is being typed.

export interface Change {
  /** From 0. */
  line: number;
  /** The first character that differs, in the newer text. */
  at: number;
}

/** `undefined` if nothing differs. */
export function firstChange(before: string, after: string): Change | undefined {
  if (before === after) return undefined;
  const end = Math.min(before.length, after.length);
  let at = 0;
  while (at < end && before[at] === after[at]) at += 1;
  let line = 0;
  for (let from = after.indexOf("\n"); from >= 0 && from < at; from = after.indexOf("\n", from + 1)) line += 1;
  return { line, at };
}
