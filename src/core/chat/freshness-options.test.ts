import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { isThroughlineError } from "../errors.ts";
import {
  defaults,
  type FreshnessOptions,
  resolveFreshness,
  rulesFromConfig,
} from "./freshness-options.ts";

const byDefault = {
  idleTimeoutMs: 0,
  dailyReset: false,
  dailyResetHour: 4,
  dailyResetQuietMs: 0,
  maxSessionMessages: null,
  timeZone: "UTC",
  sessionAgeWarningMs: 43_200_000,
  timeAwayMs: 1_800_000,
};

test("without options no rule ends a period", () => {
  assert.deepEqual(resolveFreshness(), byDefault);
  assert.deepEqual(resolveFreshness({}), byDefault);
  assert.deepEqual(rulesFromConfig({}), byDefault);
});

test("an option that is undefined counts as absent", () => {
  const options = { dailyResetHour: undefined, timeZone: undefined } as unknown as FreshnessOptions;
  assert.deepEqual(resolveFreshness(options), byDefault);
});

test("every documented default is the one in use", () => {
  const source = readFileSync(new URL("./freshness-options.ts", import.meta.url), "utf8");
  for (const [name, value] of Object.entries(defaults)) {
    const documented = new RegExp(`@default (.+)\\n\\s+\\*/\\n\\s+readonly ${name}\\?`).exec(
      source,
    );
    assert.deepEqual(JSON.parse(documented?.[1] ?? "nothing documented"), value, name);
  }
});

test("every setting of the original's configuration is taken over, in its own unit", () => {
  const rules = rulesFromConfig({
    provider: "claude",
    idle_timeout_minutes: 0.5,
    daily_reset_enabled: true,
    daily_reset_hour: 23,
    daily_reset_quiet_minutes: 15,
    max_session_messages: 1,
    user_timezone: "Europe/Berlin",
    session_age_warning_hours: 1.5,
    time_away_minutes: 0,
  });
  assert.deepEqual(rules, {
    idleTimeoutMs: 30_000,
    dailyReset: true,
    dailyResetHour: 23,
    dailyResetQuietMs: 900_000,
    maxSessionMessages: 1,
    timeZone: "Europe/Berlin",
    sessionAgeWarningMs: 5_400_000,
    timeAwayMs: 0,
  });
});

const zones: readonly [configured: string, host: string, used: string][] = [
  ["", "", "UTC"],
  ["", "Asia/Tokyo", "Asia/Tokyo"],
  ["", "Etc/Unknown", "UTC"],
  ["", ":/etc/localtime", "UTC"],
  ["Europe/Berlin", "Asia/Tokyo", "Europe/Berlin"],
];
for (const [timeZone, host, used] of zones) {
  test(`zone "${timeZone}" configured on a host in "${host}" is ${used}`, () => {
    assert.equal(resolveFreshness({ timeZone }, host).timeZone, used);
    assert.equal(rulesFromConfig({ user_timezone: timeZone }, host).timeZone, used);
  });
}

const wrong: readonly [option: keyof FreshnessOptions, setting: string, values: unknown[]][] = [
  ["idleTimeoutMinutes", "idle_timeout_minutes", [-1, Number.NaN, 1 / 0, "30", null, true]],
  ["dailyReset", "daily_reset_enabled", [1, "true", null]],
  ["dailyResetHour", "daily_reset_hour", [24, -1, 2.5, Number.NaN, "4", null]],
  ["dailyResetQuietMinutes", "daily_reset_quiet_minutes", [-0.1, Number.NaN, "0"]],
  ["maxSessionMessages", "max_session_messages", [0, -1, 2.5, Number.NaN, 1 / 0, "5", true]],
  ["timeZone", "user_timezone", ["../x", "/etc/localtime", "Europe/Atlantis", "+01:00", 5, null]],
  ["sessionAgeWarningHours", "session_age_warning_hours", [-12, Number.NaN, "12"]],
  ["timeAwayMinutes", "time_away_minutes", [-1, Number.POSITIVE_INFINITY, "30"]],
];
for (const [option, setting, values] of wrong) {
  for (const value of values) {
    test(`${option} ${JSON.stringify(value) ?? value} (${typeof value}, ${value}) is a configuration error that names it`, () => {
      const isNamed = (name: string) => (error: unknown) =>
        isThroughlineError(error, "THROUGHLINE_CONFIGURATION") && error.message.startsWith(name);
      assert.throws(() => resolveFreshness({ [option]: value }), isNamed(option));
      assert.throws(() => rulesFromConfig({ [setting]: value }), isNamed(setting));
    });
  }
}

for (const value of [null, [], "idle_timeout_minutes", 5, undefined]) {
  test(`a configuration that is ${JSON.stringify(value)} is a configuration error`, () => {
    assert.throws(
      () => rulesFromConfig(value),
      (error) => isThroughlineError(error, "THROUGHLINE_CONFIGURATION"),
    );
  });
}

for (const value of [null, [], "x", 5]) {
  test(`freshness that is ${JSON.stringify(value)} is a configuration error`, () => {
    const options = value as FreshnessOptions;
    assert.throws(() => resolveFreshness(options), {
      code: "THROUGHLINE_CONFIGURATION",
      message: "freshness must be an object",
    });
  });
}

test("a setting that there is not is refused with its name and those that there are", () => {
  const options = { idle_timeout_minutes: 30 } as FreshnessOptions;
  assert.throws(() => resolveFreshness(options), {
    code: "THROUGHLINE_CONFIGURATION",
    message: `there is no idle_timeout_minutes in freshness: there are ${Object.keys(defaults).join(", ")}`,
  });
});

test("a setting that only a prototype has is not read", () => {
  const inherited: object = Object.create({ daily_reset_hour: 9 });
  assert.equal(rulesFromConfig(inherited).dailyResetHour, 4);
});

const edges: readonly FreshnessOptions[] = [
  { dailyResetHour: 0 },
  { dailyResetHour: 23 },
  { maxSessionMessages: 1 },
  { idleTimeoutMinutes: 0 },
  { sessionAgeWarningHours: 0 },
];
for (const options of edges) {
  test(`${JSON.stringify(options)} is accepted`, () => {
    assert.doesNotThrow(() => resolveFreshness(options));
  });
}
