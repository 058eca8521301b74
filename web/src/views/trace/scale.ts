// The axis of a waterfall: from milliseconds to a place between 0 and 1, with marks at round times.
import type { Row } from "./spans";

export interface Scale {
  /** What the whole width stands for, in milliseconds; never 0. */
  whole: number;
  ticks: number[];
}

export function scaleOf(rows: Row[], duration: number | null | undefined): Scale {
  const whole = Math.max(1, duration ?? 0, ...rows.map((row) => row.span.offset_ms + row.span.duration_ms));
  return { whole, ticks: ticksOf(whole) };
}

/** Round times from 0 on, at most six, none of them too near to the end to be read. */
export function ticksOf(whole: number): number[] {
  const step = [1, 2, 5].flatMap((base) => Array.from({ length: 9 }, (_, power) => base * 10 ** power)).sort((a, b) => a - b).find((step) => whole / step <= 5) ?? whole;
  return Array.from({ length: Math.floor(whole / step) + 1 }, (_, at) => at * step).filter((tick) => tick <= whole * 0.94);
}

export interface Bar {
  /** Shares of the width. */
  left: number;
  width: number;
}

export function barOf(row: Row, scale: Scale): Bar {
  const left = Math.min(1, Math.max(0, row.span.offset_ms / scale.whole));
  return { left, width: Math.min(1 - left, Math.max(0, row.span.duration_ms / scale.whole)) };
}
