import { amount, type Checks, type Defaults, oneOf, resolveOptions, whole } from "../options.ts";
import { isKnownZone } from "./reset-day.ts";

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
