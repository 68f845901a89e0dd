import assert from "node:assert/strict";
import { test } from "node:test";
import { isKnownZone, resetDay } from "./reset-day.ts";

const hourMs = 3_600_000;

const boundaries = `
  2026-03-29T00:30Z Europe/Berlin 2 2026-03-28T01:00Z
  2026-03-29T01:30Z Europe/Berlin 2 2026-03-29T01:00Z
  2026-03-30T00:30Z Europe/Berlin 2 2026-03-30T00:00Z
  2026-10-25T00:30Z Europe/Berlin 2 2026-10-25T00:00Z
  2026-10-25T01:30Z Europe/Berlin 2 2026-10-25T00:00Z
  2026-03-08T07:30Z America/New_York 2 2026-03-08T07:00Z
  2026-04-24T00:10Z Africa/Cairo 0 2026-04-23T22:00Z
  2026-10-04T00:00Z Australia/Lord_Howe 2 2026-10-03T15:30Z
  2011-12-30T12:00Z Pacific/Apia 4 2011-12-30T10:00Z
  2011-12-30T15:00Z Pacific/Apia 4 2011-12-30T14:00Z
  2026-01-02T04:00Z UTC 4 2026-01-02T04:00Z
  2026-01-02T03:59Z UTC 4 2026-01-01T04:00Z
`;
for (const row of boundaries.trim().split("\n")) {
  const [now, zone, hour, boundary] = row.trim().split(" ") as [string, string, string, string];
  test(`at ${now} the last reset at ${hour}:00 in ${zone} was at ${boundary}, to the millisecond`, () => {
    const today = resetDay(Date.parse(now), zone, Number(hour));
    assert.equal(resetDay(Date.parse(boundary), zone, Number(hour)), today, "begun then: fresh");
    assert.ok(resetDay(Date.parse(boundary) - 1, zone, Number(hour)) < today, "1 ms before: stale");
  });
}

for (const at of [-1e15, -62_167_219_200_000, -60_589_296_000_000, 0, 253_402_300_799_999]) {
  test(`an instant as odd as ${at} ms has a reset day, on the right side of others`, () => {
    const day = resetDay(at, "Europe/Berlin", 4);
    assert.ok(Number.isInteger(day));
    assert.ok(resetDay(at - hourMs, "Europe/Berlin", 4) <= day);
    const sign = Math.sign(at - Date.UTC(1930, 0, 1));
    assert.equal(Math.sign(day - resetDay(Date.UTC(1930, 0, 1), "Europe/Berlin", 4)), sign);
  });
}

test("an instant that is not a number is refused", () => {
  assert.throws(() => resetDay(Number.NaN, "UTC", 4), RangeError);
});

const names: readonly [string, boolean][] = [
  ["Europe/Berlin", true],
  ["UTC", true],
  ["America/Argentina/Buenos_Aires", true],
  ["", false],
  ["../x", false],
  ["/usr/share/zoneinfo/Europe/Berlin", false],
  ["Europe/Atlantis", false],
  ["+01:00", false],
  ["Etc/Unknown", false],
  ["__proto__", false],
];
for (const [name, isKnown] of names) {
  test(`${JSON.stringify(name)} is ${isKnown ? "a" : "not a"} known zone`, () => {
    assert.equal(isKnownZone(name), isKnown);
  });
}
