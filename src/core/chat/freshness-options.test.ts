import assert from "node:assert/strict";
import { test } from "node:test";
import { freshnessDefaults, resolveFreshness } from "./freshness.ts";

test("without options no rule ends a period", () => {
  assert.deepEqual(
    resolveFreshness({}, () => ""),
    { ...freshnessDefaults, timeZone: "UTC" },
  );
});

test("every option is taken over", () => {
  const given = {
    idleTimeoutMinutes: 0.5,
    dailyReset: true,
    dailyResetHour: 23,
    dailyResetQuietMinutes: 15,
    maxSessionMessages: 1,
    timeZone: "Europe/Berlin",
    sessionAgeWarningHours: 1.5,
    timeAwayMinutes: 0,
  };
  assert.deepEqual(resolveFreshness(given), given);
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
    assert.equal(resolveFreshness({ timeZone }, () => host).timeZone, used);
  });
}
