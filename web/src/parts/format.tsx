// Formats numbers, money and times, with units. Numbers follow English rules like the rest of the page; dates follow
// the browser's locale and time zone.
import { useLiveText } from "./live_text";

const number = new Intl.NumberFormat("en-GB");

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : number.format(value);
}

export function tokens(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : `${number.format(value)} tok`;
}

/** `1 layer`, `3 layers`. */
export function plural(value: number, one: string): string {
  return `${number.format(value)} ${one}${value === 1 ? "" : "s"}`;
}

/** US dollars with significant digits only: $12.30, $0.0042, $0.000018. */
export function money(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "$0";
  const size = Math.abs(value);
  const digits = size >= 1 ? 2 : size >= 0.01 ? 3 : Math.min(9, 1 - Math.floor(Math.log10(size)));
  return `${value < 0 ? "−" : ""}$${size.toFixed(digits)}`;
}

/** The tooltip for a turn without an answered call. Its cost is shown as a dash, never as $0. */
export const UNCHARGED = "no answered call, so nothing was charged";

export function share(value: number | null | undefined): string {
  return value === null || value === undefined
    ? "–"
    : `${(value * 100).toFixed(value > 0.999 || value < 0.001 ? 0 : 1)} %`;
}

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  // Round before splitting into units, so that 59.96 s becomes 1 min.
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`;
  if (ms < 9_995) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

export function bytes(value: number): string {
  return value < 1024
    ? `${value} B`
    : value < 1024 * 1024
      ? `${(value / 1024).toFixed(1)} KB`
      : `${(value / 1024 / 1024).toFixed(1)} MB`;
}

/** Relative time: "5 min ago" or "in 5 min". */
export function ago(at: string | number | Date, now: number = Date.now()): string {
  const past = now - new Date(at).getTime();
  if (Number.isNaN(past)) return "–";
  const size = Math.abs(past);
  if (size < 10_000) return past >= 0 ? "just now" : "in a moment";
  const words =
    size < 90_000
      ? `${Math.round(size / 1000)} s`
      : size < 5_400_000
        ? `${Math.round(size / 60_000)} min`
        : size < 129_600_000
          ? `${Math.round(size / 3_600_000)} h`
          : `${Math.round(size / 86_400_000)} days`;
  return past >= 0 ? `${words} ago` : `in ${words}`;
}

const precise = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** A point in time, relative by default, with the local time as a tooltip. */
export function Timestamp({ at, as = "ago" }: { at: string | null | undefined; as?: "ago" | "clock" | "full" }) {
  if (!at) return <span class="quiet">–</span>;
  const date = new Date(at);
  const whole = precise.format(date);
  return (
    <time dateTime={date.toISOString()} title={whole}>
      {as === "ago" ? <Ago at={date} /> : as === "clock" ? clock.format(date) : whole}
    </time>
  );
}

function Ago({ at }: { at: Date }) {
  return <>{useLiveText(() => ago(at))}</>;
}
