import { isoTime } from "../clock.ts";
import { invalid } from "../errors.ts";
import { offsetMinutes } from "./reset-day.ts";

/** The instants that a stamp can hold: the years 0000 to 9999. */
const first = -62_167_219_200_000;
/** The last instant that a stamp can hold. */
export const latestInstant = 253_402_300_799_999;

const date = String.raw`(\d{4}-\d\d-\d\d)`;
const time = String.raw`(\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?`;
const zone = String.raw`(?:Z|([+-])([01]\d|2[0-3]):?([0-5]\d))`;
const dateTime = new RegExp(`^${date}[T ]${time}${zone}$`, "i");

/** Whether milliseconds since 1970 can be stamped: a number, and of a year that a stamp can hold. */
export function isInstant(at: number): boolean {
  return at >= first && at <= latestInstant;
}

/**
 * The instant as it is stored, ISO 8601 in UTC with milliseconds.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: `isInstant` does not hold.
 */
export function stampOf(at: number): string {
  if (!isInstant(at)) throw invalid("an instant must lie in the years 0000 to 9999");
  return isoTime(at);
}

/**
 * Milliseconds since 1970 of a stored or imported stamp: ISO 8601 with a zone, digits past the
 * millisecond cut off. `undefined` for everything else, 30 February and a stamp without a zone
 * included: `Date.parse` would take both, and the 5th of something from "5".
 */
export function instantOf(stamp: unknown): number | undefined {
  const match = typeof stamp === "string" ? dateTime.exec(stamp) : null;
  if (match === null) return undefined;
  const [, day, minute, second = "00", fraction = "", sign, hours = "0", minutes = "0"] = match;
  const utc = `${day}T${minute}:${second}.${fraction.slice(0, 3).padEnd(3, "0")}Z`;
  const local = Date.parse(utc);
  if (!isInstant(local) || isoTime(local) !== utc) return undefined;
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000;
  const at = sign === "-" ? local + offsetMs : local - offsetMs;
  return isInstant(at) ? at : undefined;
}

/** Reads the instant of an imported stamp; one without a zone is read in `zone`. */
export function readStamp(value: unknown, zone: string) {
  if (value === undefined || value === null || value === "") return "absent";
  if (typeof value !== "string") return "unreadable";
  const at = instantOf(value);
  if (at !== undefined) return { at, isZoneAssumed: false };
  const local = instantOf(`${/^[\d-]{10}$/.test(value) ? `${value}T00:00` : value}Z`);
  if (local === undefined) return "unreadable";
  // The offset before a change and the one after it differ: the second look takes the right one.
  const near = local - offsetMinutes(Math.floor(local / 60_000), zone) * 60_000;
  const instant = local - offsetMinutes(Math.floor(near / 60_000), zone) * 60_000;
  return isInstant(instant) ? { at: instant, isZoneAssumed: true } : "unreadable";
}
