import { isKnownZone, offsetMinutes } from "../core/chat/reset-day.ts";
import { isInstant } from "../core/chat/stamp.ts";
import type { Gap } from "./gap.ts";

const units: readonly (readonly [unit: string, ms: number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
];

/** The largest whole unit of a gap, rounded down: "2 days", "59 minutes"; "a moment" below 1 s. */
export function durationText({ gapMs, certainty }: Gap): string {
  if (certainty === "uncertain" || gapMs === undefined) return "an unknown time";
  for (const [unit, ms] of units) {
    const count = Math.floor(gapMs / ms);
    if (count >= 1) return `${count} ${unit}${count === 1 ? "" : "s"}`;
  }
  return "a moment";
}

const minuteMs = 60_000;
const weekdays = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");
const dayParts: readonly (readonly [fromHour: number, name: string])[] = [
  [22, "night"],
  [17, "evening"],
  [12, "afternoon"],
  [5, "morning"],
  [0, "night"],
];

/**
 * The day and its part where somebody is: "Tuesday, night". The night goes from 22:00 to 5:00, on
 * the day that the calendar of that place says.
 *
 * @param at milliseconds since 1970.
 * @param timeZone an IANA name.
 * @returns `undefined` when there is no such zone or instant: better nothing than the day of another place.
 */
export function dayPartText(at: number, timeZone: string): string | undefined {
  if (!isInstant(at) || !isKnownZone(timeZone)) return undefined;
  const minute = Math.floor(at / minuteMs);
  const local = new Date((minute + offsetMinutes(minute, timeZone)) * minuteMs);
  const [, name = "night"] = dayParts.find(([from]) => local.getUTCHours() >= from) ?? [];
  return `${weekdays[local.getUTCDay()]}, ${name}`;
}
