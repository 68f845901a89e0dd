import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { resetDay } from "../src/core/chat/reset-day.ts";
import { lastResetDay, type Offset, offsetsOf, resetOf } from "./support/reset-day-oracle.ts";

// Method: for every zone find each change of its offset by bisection, walk the days around it, and
// compare with an oracle that knows the offsets only. The full sweep is asked for by name.

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const isFull = process.env["THROUGHLINE_FULL"] === "1";

/** Half hours, quarter hours, midnights, skipped days, double summer, Ramadan, the far south. */
const awkwardZones = [
  "Africa/Cairo",
  "Africa/Casablanca",
  "Africa/El_Aaiun",
  "America/Asuncion",
  "America/Godthab",
  "America/Havana",
  "America/New_York",
  "America/Phoenix",
  "America/Santiago",
  "America/Sao_Paulo",
  "America/Scoresbysund",
  "America/St_Johns",
  "Antarctica/Casey",
  "Antarctica/Macquarie",
  "Antarctica/Troll",
  "Antarctica/Vostok",
  "Asia/Amman",
  "Asia/Beirut",
  "Asia/Gaza",
  "Asia/Kathmandu",
  "Asia/Tehran",
  "Atlantic/Azores",
  "Australia/Eucla",
  "Australia/Lord_Howe",
  "Europe/Berlin",
  "Europe/Dublin",
  "Pacific/Apia",
  "Pacific/Chatham",
  "Pacific/Kiritimati",
  "UTC",
];

const zones = isFull ? [...new Set([...Intl.supportedValuesOf("timeZone"), "UTC"])] : awkwardZones;
const [fromYear, toYear] = isFull ? [2020, 2037] : [2022, 2024];

/** Instants around a change: the resets of the days about it, the change itself, and the hours. */
function instantsAround(change: Offset, hour: number, offsets: readonly Offset[]): number[] {
  const day = lastResetDay(change.at, hour, offsets);
  const resets = [-1, 0, 1, 2].map((days) => resetOf(day + days, hour, offsets));
  const edges = [...resets, change.at].flatMap((at) => [at - 1, at]);
  const minutes = [-120, -60, -30, -15, 1, 15, 30, 45, 59, 60, 90, 119, 150, 180, 181, 240];
  return [...edges, ...minutes.map((minute) => change.at + minute * minuteMs)].sort(
    (a, b) => a - b,
  );
}

/** The hours at which something can go wrong here, and some at which nothing should. */
function hoursAround(change: Offset, before: Offset): number[] {
  const shown = [before.offsetMs, change.offsetMs].map((ms) => (change.at + ms) / hourMs);
  const near = shown.flatMap((hour) => [Math.floor(hour) - 1, Math.floor(hour)]);
  return [...new Set([0, 4, 23, ...near.map((hour) => ((hour % 24) + 24) % 24)])];
}

/** Compares the product with the oracle around every change of a zone. @returns what was done. */
function sweep(zone: string): { readonly changes: number; readonly instants: number } {
  const offsets = offsetsOf(zone, Date.UTC(fromYear, 0, 1), Date.UTC(toYear + 1, 0, 1));
  let instants = 0;
  for (const [index, change] of offsets.entries()) {
    for (const hour of hoursAround(change, offsets[index - 1] ?? change)) {
      let newest = Number.NEGATIVE_INFINITY;
      for (const at of instantsAround(change, hour, offsets)) {
        if (at < offsets[0]!.at) continue;
        const day = resetDay(at, zone, hour);
        const place = `${zone} ${hour}:00 at ${new Date(at).toISOString()}`;
        assert.equal(day, lastResetDay(at, hour, offsets), place);
        assert.ok(day >= newest, `${place} steps back`);
        newest = day;
        instants++;
      }
    }
  }
  return { changes: offsets.length - 1, instants };
}

test(`the reset day of ${zones.length} zones is the oracle's around every change of their clocks from ${fromYear} to ${toYear}`, (t) => {
  const sum = { changes: 0, instants: 0 };
  for (const zone of zones) {
    const { changes, instants } = sweep(zone);
    sum.changes += changes;
    sum.instants += instants;
  }
  t.diagnostic(`${zones.length} zones, ${sum.changes} changes, ${sum.instants} instants`);
  assert.ok(sum.changes > (isFull ? 4_000 : 100), `only ${sum.changes} changes were found`);
});

const dayRuleZones = [
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "America/Nuuk",
  "Africa/Cairo",
  "America/Havana",
  "America/Asuncion",
  "Pacific/Apia",
];
function dayRuleYears(zone: string): readonly number[] {
  if (isFull) return [2010, 2011, 2020, 2024, 2025, 2026, 2027, 2037];
  return zone === "Pacific/Apia" ? [2011] : [2026]; // Apia skipped a day, and has summers no more
}
for (const zone of dayRuleZones) {
  const years = dayRuleYears(zone);
  for (const hour of [0, 1, 2, 3, 4, 23]) {
    test(`every calendar day of ${years.join(", ")} in ${zone} begins at the first instant at or past ${hour}:00`, () => {
      for (const year of years) {
        const from = Date.UTC(year, 0, 1);
        const offsets = offsetsOf(zone, from - 3 * dayMs, from + 370 * dayMs);
        for (let day = from / dayMs; day < from / dayMs + 365; day++) {
          const reset = resetOf(day, hour, offsets);
          // A day that the zone skipped may begin together with the one after it.
          assert.equal(resetDay(reset, zone, hour), lastResetDay(reset, hour, offsets));
          assert.ok(resetDay(reset, zone, hour) >= day && resetDay(reset - 1, zone, hour) < day);
        }
      }
    });
  }
}

const zone = fc.constantFrom(...awkwardZones);
const hour = fc.integer({ min: 0, max: 23 });
const instant = fc.integer({ min: Date.UTC(1990, 0, 1), max: Date.UTC(2040, 11, 31) });
const runs = { numRuns: isFull ? 2_000 : 150 };

test("the newest boundary before any instant of 1990 to 2040 is the oracle's, and never after it", () => {
  fc.assert(
    fc.property(zone, hour, instant, (zone, hour, now) => {
      const boundary = boundaryBefore(now, zone, hour);
      const offsets = offsetsOf(zone, now - 5 * dayMs, now + dayMs, 6 * hourMs);
      assert.ok(boundary <= now);
      assert.equal(boundary, resetOf(lastResetDay(now, hour, offsets), hour, offsets));
    }),
    runs,
  );
});

/** The first instant whose period is still fresh at `now`, found from the reset days alone. */
function boundaryBefore(now: number, zone: string, hour: number): number {
  let stale = now - 28 * hourMs;
  let fresh = now;
  assert.ok(resetDay(stale, zone, hour) < resetDay(now, zone, hour), "28 hours are always stale");
  while (fresh - stale > 1) {
    const middle = Math.floor((stale + fresh) / 2);
    if (resetDay(middle, zone, hour) < resetDay(now, zone, hour)) stale = middle;
    else fresh = middle;
  }
  return fresh;
}
