// How long the companion was away, from two clock readings. Source of the method: the boot
// id and the uptime of a machine do not follow its wall clock, which may be set to anything.

import { instantOf, isInstant } from "../core/chat/stamp.ts";
import { type Clock, isoTime } from "../core/clock.ts";
import { isJsonObject } from "../core/json.ts";
import type { Shape } from "../core/shape.ts";

/** What the clocks said at one moment. Each part may be missing, or wrong if it was stored. */
export interface ClockReading {
  /** The wall clock: milliseconds since 1970 in UTC. */
  readonly at: number | undefined;
  readonly bootId?: string;
  readonly uptimeMs?: number;
}

/** Past every uptime of a machine; below it sums stay finite. */
const longestUptimeMs = 1e14;

export function readClock(clock: Clock): ClockReading {
  return reading(clock.now(), clock.bootId?.(), clock.uptimeMs?.());
}

/** A reading as it is stored, `at` in ISO 8601: what of it cannot be used is unknown. */
export const clockReading: Shape<ClockReading> = {
  read(value, at) {
    const stored = isJsonObject(value) ? value : {};
    if (stored !== value) at.says("must be what the clocks said");
    return reading(instantOf(stored["at"]), stored["boot_id"], stored["uptime_ms"]);
  },
  write: ({ at, bootId, uptimeMs }) => {
    return { at: at === undefined ? undefined : isoTime(at), boot_id: bootId, uptime_ms: uptimeMs };
  },
};

/** A reading of valid parts only: the rest counts as unknown. */
export function reading(at: unknown, bootId: unknown, uptimeMs: unknown): ClockReading {
  const isBoot = typeof bootId === "string" && /^[\w-]{1,64}$/.test(bootId);
  const isUp = typeof uptimeMs === "number" && uptimeMs >= 0 && uptimeMs <= longestUptimeMs;
  return {
    at: typeof at === "number" && isInstant(at) ? Math.round(at) + 0 : undefined,
    ...(isBoot && { bootId }),
    ...(isUp && { uptimeMs: uptimeMs + 0 }), // -0 is not JSON
  };
}

/**
 * How a gap is known. `certain`: by the uptime, within one boot of the machine. `clock`: by the wall
 * clock alone. `uncertain`: the wall clock went backwards, contradicts the uptime, or is missing.
 */
export const certainties = ["certain", "clock", "uncertain"] as const;
type Certainty = (typeof certainties)[number];

/** A length of time: never negative, never NaN, never infinite. */
export interface Gap {
  /** In milliseconds; `undefined` where nothing is known of it. */
  readonly gapMs: number | undefined;
  readonly certainty: Certainty;
}

export const unknownGap: Gap = { gapMs: undefined, certainty: "uncertain" };

/** Past all that two readings can be apart. */
export const longestGapMs = 1e15;
/** A clock that was not set between two readings drifts by less than this. */
const driftMs = 60_000;

/** The time from one reading to a later one. A wall difference below 0 is 0. */
export function gapBetween(last: ClockReading | undefined, now: ClockReading): Gap {
  if (last === undefined) return unknownGap;
  const upMs = uptimeBetween(last, now);
  if (upMs !== undefined && upMs >= 0) return { gapMs: upMs, certainty: "certain" };
  if (last.at === undefined || now.at === undefined) return unknownGap;
  const wallMs = now.at - last.at;
  // What was before this boot of the machine was at least as long ago as the machine is up.
  const isOtherBoot =
    last.bootId !== undefined && now.bootId !== undefined && last.bootId !== now.bootId;
  const leastMs = isOtherBoot ? (now.uptimeMs ?? 0) : 0;
  // An uptime that went backwards is a machine that was set back to a copy of itself.
  const isPossible = upMs === undefined && wallMs >= leastMs;
  return { gapMs: Math.max(0, wallMs), certainty: isPossible ? "clock" : "uncertain" };
}

/**
 * The last sign of life among several: the latest of this boot of the machine, by its uptime; where
 * there is none, the latest by the wall clock. A wall-clock stamp never competes with an uptime,
 * because after a change of the clock it would win with any time at all.
 */
export function lastSignOfLife(
  signs: readonly (ClockReading | undefined)[],
  now: ClockReading,
): ClockReading | undefined {
  const known = signs.filter((sign) => sign !== undefined);
  const ofBoot = known.filter((sign) => (uptimeBetween(sign, now) ?? -1) >= 0);
  const byUptime = ofBoot.toSorted((a, b) => (b.uptimeMs ?? 0) - (a.uptimeMs ?? 0));
  const dated = known.filter(({ at }) => at !== undefined);
  return [...byUptime, ...dated.toSorted((a, b) => (b.at ?? 0) - (a.at ?? 0))][0];
}

/** A gap as it was judged at a boot, with what it takes to judge it again. */
export interface JudgedGap extends Gap {
  /** The last sign of life before the boot. */
  readonly before: ClockReading | undefined;
  readonly judgedAt: ClockReading;
}

export function judgeGap(
  signs: readonly (ClockReading | undefined)[],
  judgedAt: ClockReading,
): JudgedGap {
  const before = lastSignOfLife(signs, judgedAt);
  return { ...gapBetween(before, judgedAt), before, judgedAt };
}

/**
 * The same gap, seen from now: somebody who wakes the companion hours after its boot was away for
 * hours. At least the time since the boot, also where nothing is known of the time before. If the
 * wall clock was set since the boot, the longer of the two answers holds, as `uncertain`.
 *
 * @param upMs how long the process has been up, by a clock that cannot be set. @default 0
 */
export function gapAtDelivery(judged: JudgedGap, now: ClockReading, upMs = 0): Gap {
  const again = gapBetween(judged.before, now);
  if (again.certainty === "certain") return again;
  const passedMs = Math.max(gapBetween(judged.judgedAt, now).gapMs ?? 0, Math.floor(upMs));
  const countedMs = (judged.gapMs ?? 0) + passedMs;
  const againMs = again.gapMs ?? 0;
  const isAgreed =
    judged.certainty !== "uncertain" &&
    again.certainty !== "uncertain" &&
    Math.abs(countedMs - againMs) <= driftMs;
  return { gapMs: Math.max(countedMs, againMs), certainty: isAgreed ? "clock" : "uncertain" };
}

/** `undefined`: not the same boot of the machine, or unknown. */
function uptimeBetween(from: ClockReading, to: ClockReading): number | undefined {
  if (from.bootId === undefined || from.bootId !== to.bootId) return undefined;
  if (from.uptimeMs === undefined || to.uptimeMs === undefined) return undefined;
  return to.uptimeMs - from.uptimeMs;
}

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
