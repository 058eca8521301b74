// Named time ranges, such as "last night", in the browser's time zone.
export const TIMES = {
  "": "any time",
  hour: "the last hour",
  today: "today",
  night: "last night",
  yesterday: "yesterday",
  week: "the last 7 days",
} as const;

export type Time = keyof typeof TIMES;

export function timeOf(word: string | null): Time {
  return word !== null && Object.hasOwn(TIMES, word) ? (word as Time) : "";
}

export interface TimeRange {
  since?: string;
  until?: string;
}

/** The range at `now`. A night lasts from 18:00 to 08:00. */
export function rangeOf(time: Time, now: Date): TimeRange {
  switch (time) {
    case "":
      return {};
    case "hour":
      return { since: new Date(now.getTime() - 3_600_000).toISOString() };
    case "today":
      return { since: at(now, 0, 0) };
    case "night":
      return { since: at(now, -1, 18), until: at(now, 0, 8) };
    case "yesterday":
      return { since: at(now, -1, 0), until: at(now, 0, 0) };
    case "week":
      return { since: at(now, -6, 0) };
  }
}

function at(now: Date, days: number, hour: number): string {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, hour).toISOString();
}
