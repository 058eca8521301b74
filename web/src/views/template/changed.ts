// Where a rendered text began to differ from the one before, so that the preview can show what is being typed.

/** The first character that differs, in the newer text; `undefined` if nothing does. */
export function firstChange(before: string, after: string): number | undefined {
  if (before === after) return undefined;
  const end = Math.min(before.length, after.length);
  let at = 0;
  while (at < end && before[at] === after[at]) at += 1;
  return at;
}
