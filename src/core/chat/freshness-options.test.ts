import assert from "node:assert/strict";
import { test } from "node:test";
import { resolveFreshness } from "./freshness.ts";

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
