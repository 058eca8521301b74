// Exponential backoff with jitter for reconnecting.
const FIRST_DELAY_MS = 300;
const MAX_DELAY_MS = 8_000;

/** The delay in milliseconds after `failures` failures; `chance` is a random number between 0 and 1. */
export function backoffDelay(failures: number, chance: number): number {
  const whole = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures, 10));
  return Math.round(whole / 2 + (whole / 2) * chance);
}
