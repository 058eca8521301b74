// The time axis of a waterfall: maps milliseconds to 0…1, with ticks at round times.
import type { Row } from "./spans";

export interface Scale {
  /** The duration of the whole width in milliseconds; never 0. */
  whole: number;
  ticks: number[];
}

export function scaleOf(rows: Row[], duration: number | null | undefined): Scale {
  const whole = Math.max(1, duration ?? 0, ...rows.map((row) => row.span.offset_ms + row.span.duration_ms));
  return { whole, ticks: ticksOf(whole) };
}

/** Round times from 0, at most six, none too close to the end. */
export function ticksOf(whole: number): number[] {
  const step =
    [1, 2, 5]
      .flatMap((base) => Array.from({ length: 9 }, (_, power) => base * 10 ** power))
      .sort((a, b) => a - b)
      .find((step) => whole / step <= 5) ?? whole;
  return Array.from({ length: Math.floor(whole / step) + 1 }, (_, at) => at * step).filter(
    (tick) => tick <= whole * 0.94,
  );
}

export interface Bar {
  /** Fractions of the width. */
  left: number;
  width: number;
}

export function barOf(row: Row, scale: Scale): Bar {
  const left = Math.min(1, Math.max(0, row.span.offset_ms / scale.whole));
  return { left, width: Math.min(1 - left, Math.max(0, row.span.duration_ms / scale.whole)) };
}
