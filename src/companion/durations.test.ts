import assert from "node:assert/strict";
import { test } from "node:test";
import { dayPartText, durationText } from "./durations.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const rows: readonly (readonly [gapMs: number, text: string])[] = [
  [0, "a moment"],
  [999, "a moment"],
  [1_000, "1 second"],
  [1_999, "1 second"],
  [29_999, "29 seconds"],
  [minute - 1, "59 seconds"],
  [minute, "1 minute"],
  [2 * minute, "2 minutes"],
  [30 * minute, "30 minutes"], // R13b
  [hour - 1, "59 minutes"],
  [hour, "1 hour"],
  [2 * hour - 1, "1 hour"],
  [day - 1, "23 hours"],
  [day, "1 day"],
  [2 * day - 1, "1 day"],
  [57 * 365 * day, "20805 days"],
];
for (const [gapMs, text] of rows) {
  test(`a gap of ${gapMs} ms is "${text}" by the uptime and by the clock`, () => {
    assert.equal(durationText({ gapMs, certainty: "certain" }), text);
    assert.equal(durationText({ gapMs, certainty: "clock" }), text);
    assert.equal(durationText({ gapMs, certainty: "uncertain" }), "an unknown time"); // R8
  });
}

test("a gap of which nothing is known is an unknown time", () => {
  assert.equal(durationText({ gapMs: undefined, certainty: "uncertain" }), "an unknown time");
});

const days: readonly (readonly [at: string, zone: string, text: string | undefined])[] = [
  ["2026-03-02T23:00Z", "Etc/GMT-2", "Tuesday, night"], // R13b: 01:00 there
  ["2026-03-02T23:00Z", "UTC", "Monday, night"],
  ["2026-03-02T04:59:59Z", "UTC", "Monday, night"],
  ["2026-03-02T05:00Z", "UTC", "Monday, morning"],
  ["2026-03-02T11:59Z", "UTC", "Monday, morning"],
  ["2026-03-02T12:00Z", "UTC", "Monday, afternoon"],
  ["2026-03-02T16:59Z", "UTC", "Monday, afternoon"],
  ["2026-03-02T17:00Z", "UTC", "Monday, evening"],
  ["2026-03-02T21:59Z", "UTC", "Monday, evening"],
  ["2026-03-02T22:00Z", "UTC", "Monday, night"],
  ["2026-03-02T00:00Z", "UTC", "Monday, night"],
  ["2026-07-01T22:30Z", "Europe/Berlin", "Thursday, night"],
  ["2026-07-01T11:00Z", "Pacific/Kiritimati", "Thursday, night"],
  ["2026-07-01T12:00Z", "../etc/passwd", undefined],
  ["2026-07-01T12:00Z", "", undefined],
  ["never", "UTC", undefined],
];
for (const [at, zone, text] of days) {
  test(`at ${at} in "${zone}" it is ${text}`, () => {
    assert.equal(dayPartText(Date.parse(at), zone), text);
  });
}
