import { Lru } from "../lru.ts";

const minuteMs = 60_000;
const dayMinutes = 24 * 60;
/** Before the year 1000 every instant counts as the first one of it: no period is that old. */
const earliest = Date.UTC(1000, 0, 1);

/** A formatter costs 100 µs to make and 5 µs to use, and each keeps some kilobytes. */
const formats = new Lru<string, Intl.DateTimeFormat>(64);

/**
 * The day that an instant belongs to when days begin at `hour` o'clock in `zone`, as a day number.
 * Something begun at `a` is past the daily reset at `b` when `resetDay(a) < resetDay(b)`. Where clocks
 * are put back over the reset hour itself, as in Chatham at 3 or Troll at 2, that night has two resets.
 *
 * @param at milliseconds since 1970, UTC; up to the year 9999.
 * @param zone a zone for which `isKnownZone` holds.
 * @param hour 0 to 23.
 * @throws RangeError an unknown zone, or an instant that no date has.
 */
export function resetDay(at: number, zone: string, hour: number): number {
  const now = Math.floor(Math.max(at, earliest) / minuteMs);
  return Math.floor((now + offsetMinutes(now, zone) - hour * 60) / dayMinutes);
}

/** Whether a name is in the host's IANA time zone database: no path, no offset, not empty. */
export function isKnownZone(zone: unknown): zone is string {
  if (typeof zone !== "string" || !/^[A-Za-z]/.test(zone)) return false;
  try {
    formatOf(zone);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/**
 * How far the clocks of a zone are ahead of UTC, in minutes, rounded down.
 *
 * @param minute minutes since 1970, UTC.
 */
export function offsetMinutes(minute: number, zone: string): number {
  const part = { year: 0, month: 0, day: 0, hour: 0, minute: 0 };
  for (const { type, value } of formatOf(zone).formatToParts(minute * minuteMs)) {
    if (Object.hasOwn(part, type)) part[type as keyof typeof part] = Number(value);
  }
  const local = Date.UTC(part.year, part.month - 1, part.day, part.hour, part.minute);
  return local / minuteMs - minute;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const kept = formats.get(zone);
  if (kept !== undefined) return kept;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  });
  formats.set(zone, format);
  return format;
}
