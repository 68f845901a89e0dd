const units = [
  ["year", 365.25 * 86_400_000],
  ["month", 30.44 * 86_400_000],
  ["week", 7 * 86_400_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });

/**
 * How long ago, or how far ahead, in words: "just now", "3 min. ago", "yesterday".
 *
 * @param at ISO 8601 or epoch milliseconds. What is no time gives "".
 */
export function relativeTime(at: string | number, now: number = Date.now()): string {
  const ms = (typeof at === "number" ? at : Date.parse(at)) - now;
  if (Number.isNaN(ms)) return "";
  for (const [unit, size] of units) {
    if (Math.abs(ms) >= size) return words.format(Math.round(ms / size), unit);
  }
  return Math.abs(ms) < 5_000 ? "just now" : words.format(Math.round(ms / 1000), "second");
}

/** The whole date and time, as the person's browser writes it; "" for what is no time. */
export function fullTime(at: string | number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "";
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
