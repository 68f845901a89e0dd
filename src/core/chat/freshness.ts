import { amount, byDefault, type Check, type Options, resolveOptions, whole } from "../options.ts";
import { bucketOf, type Period } from "./period.ts";
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

/** The options, checked, with their defaults. Its `timeZone` is a known zone, never empty. */
export type FreshnessRules = {
  readonly [K in keyof FreshnessOptions]-?: Exclude<FreshnessOptions[K], undefined>;
};

const limit = whole(1);

const limitOrNone: Check = [`null or ${limit[0]}`, (value) => value === null || limit[1](value)];
const zone: Check = ["a known IANA time zone", (value) => value === "" || isKnownZone(value)];

export const freshnessOptions = {
  idleTimeoutMinutes: byDefault(0, amount("from 0")),
  dailyReset: byDefault(false),
  dailyResetHour: byDefault(4, whole(0, 23)),
  dailyResetQuietMinutes: byDefault(0, amount("from 0")),
  maxSessionMessages: byDefault(null, limitOrNone),
  timeZone: byDefault("", zone),
  sessionAgeWarningHours: byDefault(12, amount("from 0")),
  timeAwayMinutes: byDefault(30, amount("from 0")),
} satisfies Options<FreshnessOptions>;

/**
 * Checks the options and fills in the defaults.
 *
 * @param hostZone finds the host's own zone, for an empty `timeZone`; one that is not known counts as UTC.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: no object, a bad value or a setting that there
 *   is not; the message names the setting.
 */
export function resolveFreshness(
  given: FreshnessOptions = {},
  hostZone = () => new Intl.DateTimeFormat().resolvedOptions().timeZone,
): FreshnessRules {
  const rules = resolveOptions("freshness", given, freshnessOptions);
  if (rules.timeZone !== "") return rules;
  let zone: string | undefined;
  return {
    ...rules,
    // When it is first asked for: that takes 16 ms, and without a daily reset nothing here needs it.
    get timeZone() {
      const own = zone ?? hostZone();
      zone = isKnownZone(own) ? own : "UTC";
      return zone;
    },
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
  readonly reason: Reason;
  /** What is over: nothing, the period, or the provider's bucket alone. */
  readonly ends: "nothing" | "period" | "provider";
  /** `"uncertain"`: clock and stamps do not fit together, so what follows from time may be wrong. */
  readonly clock: "certain" | "uncertain";
  /** The state with stamps that can be used: the same object where they could be. */
  readonly state: Period | undefined;
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
  const { provider, now, rules, timeZone, isQueued = false } = judged;
  const { state, clock } = withUsableStamps(judged.state, now);
  const verdict = (reason: Reason, ends: Verdict["ends"] = "nothing"): Verdict => {
    return { reason, ends, clock, state };
  };
  if (state === undefined) return verdict("no_session");
  const humanMs = instantOf(state.human_at);
  if (humanMs === undefined) return verdict("invalid_timestamp", "period");
  const limit = rules.maxSessionMessages;
  const bucket = bucketOf(state, provider);
  if (limit !== null && bucket.message_count >= limit) {
    return verdict("max_messages", "provider");
  }
  if (isInstant(now) && !isQueued) {
    const quietMs = Math.max(0, now - humanMs);
    const idleMs = rules.idleTimeoutMinutes * minuteMs;
    if (idleMs > 0 && quietMs >= idleMs) return verdict("idle_timeout", "period");
    const isQuiet = quietMs >= rules.dailyResetQuietMinutes * minuteMs;
    if (rules.dailyReset && isQuiet && isPastReset(state, now, rules, timeZone)) {
      return verdict("daily_reset", "period");
    }
  }
  return verdict(bucket.session_id === "" ? "no_provider_session" : "still_valid");
}

function isPastReset(
  { started_at }: Period,
  now: number,
  { dailyResetHour: hour, timeZone }: FreshnessRules,
  zone = timeZone, // the host's takes 16 ms to find
): boolean {
  return resetDay(instantOf(started_at) ?? now, zone, hour) < resetDay(now, zone, hour);
}

/** Puts stamps that lie in the future or cannot be read at what they count as; a last act stays unreadable. */
function withUsableStamps(
  state: Period | undefined,
  now: number,
): Pick<Verdict, "state" | "clock"> {
  const humanMs = instantOf(state?.human_at);
  if (state === undefined || humanMs === undefined) return { state, clock: "certain" };
  if (!isInstant(now)) return { state, clock: "uncertain" };
  const isLate = (at: number) => at > now + futureToleranceMs;
  const startedMs = instantOf(state.started_at);
  const isStartWrong = startedMs === undefined || isLate(startedMs);
  if (!isLate(humanMs) && !isStartWrong) return { state, clock: "certain" };
  const human_at = isLate(humanMs) ? stampOf(now) : state.human_at;
  // A period began no later than a person last acted in it.
  const started_at = isStartWrong ? stampOf(isLate(humanMs) ? now : humanMs) : state.started_at;
  return { state: { ...state, human_at, started_at }, clock: "uncertain" };
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

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
  const warningMs = rules.sessionAgeWarningHours * hourMs;
  const ageMs = now - (startedMs ?? Number.NaN);
  if (warningMs === 0 || !(ageMs >= warningMs) || count === 0 || count % 10 !== 0) return undefined;
  return `This session is ${ageText(ageMs)} old. A reset begins a new one and keeps this one readable.`;
}

function ageText(ageMs: number): string {
  const hours = Math.floor(ageMs / hourMs);
  if (hours >= 48) return `${Math.floor(hours / 24)} days`;
  if (hours < 1) return "less than an hour";
  return hours === 1 ? "1 hour" : `${hours} hours`;
}
