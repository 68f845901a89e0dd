import assert from "node:assert/strict";
import { test } from "node:test";
import { isThroughlineError } from "../errors.ts";
import { type FreshnessOptions, resolveFreshness } from "./freshness.ts";

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
});

test("an option that is undefined counts as absent", () => {
  const options = { dailyResetHour: undefined, timeZone: undefined } as unknown as FreshnessOptions;
  assert.deepEqual(resolveFreshness(options), byDefault);
});

test("every option is taken over, in the unit that the rules count in", () => {
  const rules = resolveFreshness({
    idleTimeoutMinutes: 0.5,
    dailyReset: true,
    dailyResetHour: 23,
    dailyResetQuietMinutes: 15,
    maxSessionMessages: 1,
    timeZone: "Europe/Berlin",
    sessionAgeWarningHours: 1.5,
    timeAwayMinutes: 0,
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
  });
}

const wrong: readonly [option: keyof FreshnessOptions, values: unknown[]][] = [
  ["idleTimeoutMinutes", [-1, Number.NaN, 1 / 0, "30", null, true]],
  ["dailyReset", [1, "true", null]],
  ["dailyResetHour", [24, -1, 2.5, Number.NaN, "4", null]],
  ["dailyResetQuietMinutes", [-0.1, Number.NaN, "0"]],
  ["maxSessionMessages", [0, -1, 2.5, Number.NaN, 1 / 0, "5", true]],
  ["timeZone", ["../x", "/etc/localtime", "Europe/Atlantis", "+01:00", 5, null]],
  ["sessionAgeWarningHours", [-12, Number.NaN, "12"]],
  ["timeAwayMinutes", [-1, Number.POSITIVE_INFINITY, "30"]],
];
for (const [option, values] of wrong) {
  for (const value of values) {
    test(`${option} ${JSON.stringify(value) ?? value} (${typeof value}, ${value}) is a configuration error that names it`, () => {
      const isNamed = (name: string) => (error: unknown) =>
        isThroughlineError(error, "THROUGHLINE_CONFIGURATION") && error.message.startsWith(name);
      assert.throws(() => resolveFreshness({ [option]: value }), isNamed(option));
    });
  }
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
    message: /^there is no idle_timeout_minutes in freshness: there are idleTimeoutMinutes, /,
  });
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
