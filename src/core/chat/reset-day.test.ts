import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isKnownZone, offsetMinutes, resetDay } from "./reset-day.ts";

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
  2026-04-04T14:05Z Pacific/Chatham 3 2026-04-04T13:15Z
  2026-04-04T14:20Z Pacific/Chatham 3 2026-04-04T13:15Z
  2026-10-25T02:30Z Antarctica/Troll 2 2026-10-25T00:00Z
  2010-11-07T03:00Z America/St_Johns 0 2010-11-07T02:30Z
  2010-11-07T04:00Z America/St_Johns 0 2010-11-07T02:30Z
  1994-01-31T21:00Z Antarctica/Vostok 23 1994-01-31T16:00Z
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

const awkward = [
  "Africa/Cairo",
  "America/Nuuk",
  "America/St_Johns",
  "Antarctica/Casey",
  "Antarctica/Troll",
  "Antarctica/Vostok",
  "Asia/Gaza",
  "Australia/Lord_Howe",
  "Europe/Berlin",
  "Pacific/Apia",
  "Pacific/Chatham",
  "UTC",
];
const zone = fc.constantFrom(...awkward);
const hour = fc.integer({ min: 0, max: 23 });
const from = Date.UTC(1990, 0, 1);
const to = Date.UTC(2040, 11, 31);
/** Far from each other, or within two days, where a mistake would show. */
const instants = fc.oneof(
  fc.array(fc.integer({ min: from, max: to }), { minLength: 3, maxLength: 3 }),
  fc
    .tuple(fc.integer({ min: from, max: to }), fc.integer({ max: 48 * hourMs, min: 0 }))
    .chain(([a, span]) =>
      fc.tuple(fc.constant(a), fc.integer({ min: 0, max: span }), fc.constant(span)),
    )
    .map(([a, b, c]) => [a, a + b, a + c]),
);

test("nothing is stale at the instant it began, and what is stale stays stale, for every zone and hour", () => {
  fc.assert(
    fc.property(zone, hour, instants, (zone, hour, unsorted) => {
      const [a, b, c] = unsorted.toSorted((x, y) => x - y) as [number, number, number];
      const stale = (begun: number, now: number) =>
        resetDay(begun, zone, hour) < resetDay(now, zone, hour);
      assert.equal(stale(a, a), false);
      assert.equal(stale(a, c), stale(a, b) || stale(b, c));
      if (c - a >= 28 * hourMs) assert.equal(stale(a, c), true);
    }),
    { numRuns: 500 },
  );
});

test("the reset day never falls, minute by minute, where the reset hour comes twice", () => {
  const nights: readonly [string, number, string][] = [
    ["Pacific/Chatham", 3, "2026-04-04T12:00Z"],
    ["Antarctica/Troll", 2, "2026-10-24T23:00Z"],
    ["Antarctica/Vostok", 1, "2023-12-17T17:00Z"],
    ["America/St_Johns", 0, "2010-11-07T01:00Z"],
  ];
  for (const [zone, hour, start] of nights) {
    let newest = Number.NEGATIVE_INFINITY;
    for (let minute = 0; minute < 600; minute++) {
      const day = resetDay(Date.parse(start) + minute * 60_000, zone, hour);
      assert.ok(day >= newest, `${zone} ${hour}:00, ${minute} minutes after ${start}`);
      newest = day;
    }
  }
});

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
  ["US/Pacific", true],
  ["", false],
  ["../x", false],
  ["/etc/localtime", false],
  ["/usr/share/zoneinfo/Europe/Berlin", false],
  ["Europe/Atlantis", false],
  ["+01:00", false],
  ["posix/UTC", false],
  [" UTC", false],
  ["Etc/Unknown", false],
  ["__proto__", false],
];
for (const [name, isKnown] of names) {
  test(`${JSON.stringify(name)} is ${isKnown ? "a" : "not a"} known zone`, () => {
    assert.equal(isKnownZone(name), isKnown);
  });
}

test("more zones than formatters are kept answer as they did before", () => {
  const zones = Intl.supportedValuesOf("timeZone").slice(0, 150);
  const days = () => zones.map((zone) => resetDay(Date.UTC(2026, 6, 1, 12), zone, 4));
  assert.deepEqual(days(), days());
});

const offsets: readonly [string, string, number][] = [
  ["2026-01-01T00:00Z", "Europe/Berlin", 60],
  ["2026-07-01T00:00Z", "Europe/Berlin", 120],
  ["2026-07-01T00:00Z", "America/St_Johns", -150],
  ["2026-07-01T00:00Z", "Asia/Kathmandu", 345],
];
for (const [at, zone, minutes] of offsets) {
  test(`at ${at} the clocks of ${zone} are ${minutes} minutes ahead of UTC`, () => {
    assert.equal(offsetMinutes(Date.parse(at) / 60_000, zone), minutes);
  });
}
