import { amount, type Checks, type Defaults, oneOf, resolveOptions, whole } from "../options.ts";
import { bucketOf, isNew, type Period } from "./period.ts";
import { isKnownZone, resetDay } from "./reset-day.ts";
import { instantOf, isInstant, stampOf } from "./stamp.ts";

/** When a period ends by itself. By default it never does. */
export interface FreshnessOptions {
  /**
   * The period ends once no person acted for so many minutes. 0 is off.
   * @default 0
   */
  readonly idleTimeoutMinutes?: number | undefined;
  /**
   * The period ends at `dailyResetHour` of every local day.
   * @default false
   */
  readonly dailyReset?: boolean | undefined;
  /**
   * The hour of the daily reset, a whole number from 0 to 23 on the clock of `timeZone`.
   * @default 4
   */
  readonly dailyResetHour?: number | undefined;
  /**
   * The daily reset waits until no person acted for so many minutes. 0 does not wait.
   * @default 0
   */
  readonly dailyResetQuietMinutes?: number | undefined;
  /**
   * One provider's part of the period ends after so many messages, a whole number from 1; the
   * other providers' parts go on. `null` is no limit.
   * @default null
   */
  readonly maxSessionMessages?: number | null | undefined;
  /**
   * The IANA zone of the daily reset. Empty: the host's zone, else UTC.
   * @default ""
   */
  readonly timeZone?: string | undefined;
  /**
   * From this age in hours on, the person is told how old the period is, every ten messages. 0 is
   * off.
   * @default 12
   */
  readonly sessionAgeWarningHours?: number | undefined;
  /**
   * Once no person acted for so many minutes, the model is told for how long, with what they say then.
   * 0 is off.
   * @default 30
   */
  readonly timeAwayMinutes?: number | undefined;
}

export const freshnessDefaults = {
  idleTimeoutMinutes: 0,
  dailyReset: false,
  dailyResetHour: 4,
  dailyResetQuietMinutes: 0,
  maxSessionMessages: null,
  timeZone: "",
  sessionAgeWarningHours: 12,
  timeAwayMinutes: 30,
} as const satisfies Defaults<FreshnessOptions>;

/** The options, checked, in the units that the rules count in. */
export interface FreshnessRules {
  /** 0 is off. */
  readonly idleTimeoutMs: number;
  readonly dailyReset: boolean;
  readonly dailyResetHour: number;
  readonly dailyResetQuietMs: number;
  readonly maxSessionMessages: number | null;
  /** A known zone, never empty. */
  readonly timeZone: string;
  /** 0 is off. */
  readonly sessionAgeWarningMs: number;
  /** 0 is off. */
  readonly timeAwayMs: number;
}

const limit = whole(1);

export const freshnessChecks = {
  idleTimeoutMinutes: amount("from 0"),
  dailyReset: oneOf(true, false),
  dailyResetHour: whole(0, 23),
  dailyResetQuietMinutes: amount("from 0"),
  maxSessionMessages: [`null or ${limit[0]}`, (value) => value === null || limit[1](value)],
  timeZone: ["a known IANA time zone", (value) => value === "" || isKnownZone(value)],
  sessionAgeWarningHours: amount("from 0"),
  timeAwayMinutes: amount("from 0"),
} as const satisfies Checks<FreshnessOptions>;

/**
 * Checks the options and fills in the defaults.
 *
 * @param hostZone the host's own zone, for an empty `timeZone`; one that is not known counts as UTC.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: no object, a bad value or a setting that there
 *   is not; the message names the setting.
 */
export function resolveFreshness(given: FreshnessOptions = {}, hostZone = ""): FreshnessRules {
  const options = resolveOptions("freshness", given, freshnessDefaults, freshnessChecks);
  const { dailyReset, dailyResetHour, maxSessionMessages, timeZone } = options;
  return {
    idleTimeoutMs: options.idleTimeoutMinutes * 60_000,
    dailyReset,
    dailyResetHour,
    dailyResetQuietMs: options.dailyResetQuietMinutes * 60_000,
    maxSessionMessages,
    timeZone: timeZone !== "" ? timeZone : isKnownZone(hostZone) ? hostZone : "UTC",
    sessionAgeWarningMs: options.sessionAgeWarningHours * 3_600_000,
    timeAwayMs: options.timeAwayMinutes * 60_000,
  };
}

/** A stamp may be this far ahead of the clock and still count as now. */
const futureToleranceMs = 300_000;

/** Why a provider can or cannot go on where it left off; named as the original logged them. */
export type Reason =
  | "still_valid"
  | "no_session"
  | "no_provider_session"
  | "invalid_timestamp"
  | "max_messages"
  | "idle_timeout"
  | "daily_reset";

export interface Verdict {
  /** The provider can resume where it left off. Also false when nothing ended but there is no id to resume with. */
  readonly fresh: boolean;
  readonly reason: Reason;
  /** What is over: nothing, the period, or the provider's bucket alone. */
  readonly ends: "nothing" | "period" | "provider";
  /** `"uncertain"`: clock and stamps do not fit together, so what follows from time may be wrong. */
  readonly clock: "certain" | "uncertain";
  /** Stamps to write in place of those in the state, ISO 8601: they could not be used. */
  readonly humanAt?: string;
  readonly startedAt?: string;
  /** `humanAt` is the moment of an import, because the import had none. */
  readonly humanAtAssumed?: true;
}

interface Judged {
  readonly state: Period | undefined;
  /** The provider that the next turn would run on. */
  readonly provider: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly rules: FreshnessRules;
  /** A known zone that counts before that of the rules: the chat's own. */
  readonly timeZone?: string | undefined;
  /** The state comes from elsewhere, so that an empty `human_at` means unknown, not damaged. */
  readonly imported?: boolean;
  /** What is to go on was said while a turn of the period ran: no rule about time applies. */
  readonly isQueued?: boolean;
}

/**
 * Judges whether a provider can go on in a period. The first rule that fails decides: an
 * unreadable stamp, the message limit, idleness, the daily reset. Nothing is changed. While one of its
 * turns runs, no time rule ends the period: what is said during the turn belongs to it.
 *
 * A person's last act may lie in the future: up to 300 s it counts as now, past that it is clamped
 * to now. When `now` itself is no instant of the years 0000 to 9999, no rule about time applies.
 */
export function judge(judged: Judged): Verdict {
  const { state, provider, now, rules, timeZone, imported = false, isQueued = false } = judged;
  if (state === undefined) {
    return { fresh: false, reason: "no_session", ends: "nothing", clock: "certain" };
  }
  const clocks = readClocks(state, now, imported);
  if (clocks === undefined) {
    return { fresh: false, reason: "invalid_timestamp", ends: "period", clock: "certain" };
  }
  const { humanMs, startedMs, ...found } = clocks;
  const limit = rules.maxSessionMessages;
  if (limit !== null && bucketOf(state, provider).message_count >= limit) {
    return { fresh: false, reason: "max_messages", ends: "provider", ...found };
  }
  if (isInstant(now) && !isQueued) {
    const quietMs = Math.max(0, now - humanMs);
    if (rules.idleTimeoutMs > 0 && quietMs >= rules.idleTimeoutMs) {
      return { fresh: false, reason: "idle_timeout", ends: "period", ...found };
    }
    if (quietMs >= rules.dailyResetQuietMs && isPastReset(startedMs, now, rules, timeZone)) {
      return { fresh: false, reason: "daily_reset", ends: "period", ...found };
    }
  }
  if (isNew(state, provider)) {
    return { fresh: false, reason: "no_provider_session", ends: "nothing", ...found };
  }
  return { fresh: true, reason: "still_valid", ends: "nothing", ...found };
}

/** The state with the stamps that the verdict corrects; the same object when it corrects none. */
export function correctClocks(state: Period, verdict: Verdict): Period {
  const { humanAt, startedAt, humanAtAssumed } = verdict;
  if (humanAt === undefined && startedAt === undefined) return state;
  const corrected = {
    ...state,
    human_at: humanAt ?? state.human_at,
    started_at: startedAt ?? state.started_at,
  };
  return humanAtAssumed ? { ...corrected, human_at_assumed: true } : corrected;
}

function isPastReset(
  startedMs: number,
  now: number,
  rules: FreshnessRules,
  timeZone: string | undefined,
): boolean {
  const { dailyReset, dailyResetHour: hour } = rules;
  if (!dailyReset) return false;
  const zone = timeZone ?? rules.timeZone; // the host's takes 16 ms to find
  return resetDay(startedMs, zone, hour) < resetDay(now, zone, hour);
}

type Clocks = Pick<Verdict, "clock" | "humanAt" | "startedAt" | "humanAtAssumed"> & {
  readonly humanMs: number;
  readonly startedMs: number;
};

/** The stamps as they count at `now`, and what must be written; `undefined`: no last act to read. */
function readClocks(state: Period, now: number, imported: boolean): Clocks | undefined {
  const isLate = (at: number) => at > now + futureToleranceMs;
  const storedHuman = instantOf(state.human_at);
  const assumed = storedHuman === undefined && imported && !state.human_at;
  if (storedHuman === undefined && !assumed) return undefined;
  if (!isInstant(now)) {
    return { humanMs: storedHuman ?? 0, startedMs: storedHuman ?? 0, clock: "uncertain" };
  }
  const isHumanLate = storedHuman !== undefined && isLate(storedHuman);
  const humanMs = storedHuman === undefined || isHumanLate ? now : storedHuman;
  const storedStart = instantOf(state.started_at);
  const isStartWrong = storedStart === undefined || isLate(storedStart);
  // A period began no later than a person last acted in it.
  const startedMs = isStartWrong ? humanMs : storedStart;
  const corrections: { humanAt?: string; startedAt?: string; humanAtAssumed?: true } = {};
  if (humanMs !== storedHuman) corrections.humanAt = stampOf(humanMs);
  if (isStartWrong) corrections.startedAt = stampOf(startedMs);
  if (assumed) corrections.humanAtAssumed = true;
  return {
    humanMs,
    startedMs,
    clock: isHumanLate || isStartWrong ? "uncertain" : "certain",
    ...corrections,
  };
}

const hourMs = 3_600_000;

/**
 * One sentence for the person about an old period, at every tenth message of the provider. It is
 * shown beside the reply and never goes into what a model is sent. `undefined`: nothing to say.
 *
 * @param now milliseconds since 1970.
 */
export function ageNote(
  state: Period,
  provider: string,
  now: number,
  rules: FreshnessRules,
): string | undefined {
  const startedMs = instantOf(state.started_at);
  const count = bucketOf(state, provider).message_count;
  if (rules.sessionAgeWarningMs === 0 || startedMs === undefined) return undefined;
  const ageMs = now - startedMs;
  if (!(ageMs >= rules.sessionAgeWarningMs) || count === 0 || count % 10 !== 0) return undefined;
  return `This session is ${ageText(ageMs)} old. A reset begins a new one and keeps this one readable.`;
}

function ageText(ageMs: number): string {
  const hours = Math.floor(ageMs / hourMs);
  if (hours >= 48) return `${Math.floor(hours / 24)} days`;
  if (hours < 1) return "less than an hour";
  return hours === 1 ? "1 hour" : `${hours} hours`;
}
