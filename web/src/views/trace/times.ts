// Stretches of time as people ask for them, such as "last night", in the reader's own zone.
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

export interface Stretch {
  since?: string;
  until?: string;
}

/** From when until when that is at `now`. A night begins at six in the evening and ends at eight in the morning. */
export function stretchOf(time: Time, now: Date): Stretch {
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
