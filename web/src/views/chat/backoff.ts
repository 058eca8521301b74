// How long is waited before a line that was lost is tried again: twice as long each time, and not all pages at once.
const FIRST = 300;
const LONGEST = 8_000;

/** In milliseconds, for the attempt that follows `failures`; `chance` is between 0 and 1. */
export function pause(failures: number, chance: number): number {
  const whole = Math.min(LONGEST, FIRST * 2 ** Math.min(failures, 10));
  return Math.round(whole / 2 + (whole / 2) * chance);
}
