import { ThroughlineError } from "../errors.ts";
import { isJsonObject } from "../json.ts";
import { checkNames } from "../options.ts";
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

export const defaults = {
  idleTimeoutMinutes: 0,
  dailyReset: false,
  dailyResetHour: 4,
  dailyResetQuietMinutes: 0,
  maxSessionMessages: null,
  timeZone: "",
  sessionAgeWarningHours: 12,
  timeAwayMinutes: 30,
} as const satisfies Required<FreshnessOptions>;

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

type Setting = keyof FreshnessOptions;

/** The names of the settings in a configuration file: the original's, and of ours the last. */
const configNames = {
  idleTimeoutMinutes: "idle_timeout_minutes",
  dailyReset: "daily_reset_enabled",
  dailyResetHour: "daily_reset_hour",
  dailyResetQuietMinutes: "daily_reset_quiet_minutes",
  maxSessionMessages: "max_session_messages",
  timeZone: "user_timezone",
  sessionAgeWarningHours: "session_age_warning_hours",
  timeAwayMinutes: "time_away_minutes",
} as const satisfies Record<Setting, string>;

/**
 * Checks the options and fills in the defaults.
 *
 * @param hostZone the host's own zone, for an empty `timeZone`; one that is not known counts as UTC.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: no object, a bad value or a setting that there
 *   is not; the message names the setting.
 */
export function resolveFreshness(options: FreshnessOptions = {}, hostZone = ""): FreshnessRules {
  checkNames(options, "freshness", defaults);
  return resolve(
    (setting) => options[setting],
    (setting) => setting,
    hostZone,
  );
}

/**
 * The same from a configuration object with the original's snake_case names; other keys are passed
 * over. An absent `idle_timeout_minutes` is 0 here, where the original had 1440.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: no object, or a bad value.
 */
export function rulesFromConfig(json: unknown, hostZone = ""): FreshnessRules {
  if (!isJsonObject(json)) throw wrong("the session configuration", "an object");
  const read = (setting: Setting) => {
    const name = configNames[setting];
    return Object.hasOwn(json, name) ? json[name] : undefined;
  };
  return resolve(read, (setting) => configNames[setting], hostZone);
}

function resolve(
  read: (setting: Setting) => unknown,
  nameOf: (setting: Setting) => string,
  hostZone: string,
): FreshnessRules {
  const check = <T>(setting: Setting, fits: (value: unknown) => value is T, wanted: string): T => {
    // Absent takes the default; null is a value, and a wrong one for most settings.
    const given = read(setting);
    const value = given === undefined ? defaults[setting] : given;
    if (!fits(value)) throw wrong(nameOf(setting), wanted);
    return value;
  };
  const zone = check("timeZone", isZoneOrEmpty, "a known IANA time zone");
  const idleTimeoutMinutes = check("idleTimeoutMinutes", isAmount, "a number of minutes from 0");
  const quietMinutes = check("dailyResetQuietMinutes", isAmount, "a number of minutes from 0");
  const warningHours = check("sessionAgeWarningHours", isAmount, "a number of hours from 0");
  const awayMinutes = check("timeAwayMinutes", isAmount, "a number of minutes from 0");
  return {
    idleTimeoutMs: idleTimeoutMinutes * 60_000,
    dailyReset: check("dailyReset", isBoolean, "true or false"),
    dailyResetHour: check("dailyResetHour", isHour, "a whole number from 0 to 23"),
    dailyResetQuietMs: quietMinutes * 60_000,
    maxSessionMessages: check("maxSessionMessages", isLimit, "null or a whole number from 1"),
    timeZone: zone !== "" ? zone : isKnownZone(hostZone) ? hostZone : "UTC",
    sessionAgeWarningMs: warningHours * 3_600_000,
    timeAwayMs: awayMinutes * 60_000,
  };
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === "boolean";
}

function isHour(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 23;
}

function isLimit(value: unknown): value is number | null {
  return value === null || (Number.isSafeInteger(value) && (value as number) >= 1);
}

function isZoneOrEmpty(value: unknown): value is string {
  return typeof value === "string" && (value === "" || isKnownZone(value));
}

function wrong(setting: string, wanted: string): ThroughlineError {
  return new ThroughlineError(`${setting} must be ${wanted}`, {
    code: "THROUGHLINE_CONFIGURATION",
  });
}
