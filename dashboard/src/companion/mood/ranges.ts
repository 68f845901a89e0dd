/** The spans that the history is shown over, the shortest first. */
export const ranges = [
  { name: "1 h", says: "the last hour", ms: 3_600_000, refreshMs: 15_000 },
  { name: "24 h", says: "the last 24 hours", ms: 86_400_000, refreshMs: 60_000 },
  { name: "7 d", says: "the last 7 days", ms: 7 * 86_400_000, refreshMs: 300_000 },
  { name: "30 d", says: "the last 30 days", ms: 30 * 86_400_000, refreshMs: 300_000 },
] as const;

export type Range = (typeof ranges)[number];

/** A moment of the history as the span calls for: with the day when it is longer than a day. */
export function momentInWords(at: number, range: Range): string {
  const isLong = range.ms > 3_600_000;
  return new Date(at).toLocaleString(undefined, {
    ...(isLong ? { weekday: "short", day: "numeric", month: "short" } : {}),
    ...{ hour: "2-digit", minute: "2-digit" },
    ...(range.ms > 3_600_000 ? {} : { second: "2-digit" }),
  });
}

/** What stands at the chart's lower edge: the time, or the day where days are told apart. */
export function tickLabel(at: number, stepMs: number): string {
  const date = new Date(at);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
  if (stepMs >= 86_400_000 || isMidnight) {
    return date.toLocaleDateString(undefined, { day: "numeric", month: "short" });
  }
  return date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
}
