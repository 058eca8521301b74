// Finds where a rendered text differs from the previous one, so that the preview can scroll there.

/** The index of the first difference in the newer text; `undefined` if there is none. */
export function firstChange(before: string, after: string): number | undefined {
  if (before === after) return undefined;
  const end = Math.min(before.length, after.length);
  let at = 0;
  while (at < end && before[at] === after[at]) at += 1;
  return at;
}
