import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { instantOf, isInstant, stampOf } from "./stamp.ts";

const read: readonly [string, string][] = [
  ["2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678Z"],
  ["2026-01-02t03:04:05z", "2026-01-02T03:04:05.000Z"],
  ["2026-01-02T03:04Z", "2026-01-02T03:04:00.000Z"],
  ["2026-01-02 03:04:05+00:00", "2026-01-02T03:04:05.000Z"],
  ["2026-01-02T03:04:05.999999999+00:00", "2026-01-02T03:04:05.999Z"],
  ["2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05.500Z"],
  ["2026-01-02T03:04:05+05:45", "2026-01-01T21:19:05.000Z"],
  ["2026-01-02T03:04:05-0330", "2026-01-02T06:34:05.000Z"],
  ["0001-01-01T00:00:00+00:00", "0001-01-01T00:00:00.000Z"],
];
for (const [stamp, instant] of read) {
  test(`the stamp ${stamp} is ${instant}`, () => {
    assert.equal(stampOf(instantOf(stamp) ?? Number.NaN), instant);
  });
}

const unread: readonly unknown[] = [
  "",
  "yesterday",
  "2026-01-02",
  "2026-01-02T03:04:05",
  "2026-02-30T00:00:00Z",
  "2025-02-29T00:00:00Z",
  "2026-01-02T24:00:00Z",
  "2026-01-02T03:04:05+01:60",
  "0000-01-01T00:00:00+00:01",
  "9999-12-31T23:59:59-00:01",
  "+275760-09-13T00:00:00.000Z",
  1_767_323_045,
  null,
];
for (const stamp of unread) {
  test(`${JSON.stringify(stamp)} is no stamp with a zone`, () => {
    assert.equal(instantOf(stamp), undefined);
  });
}

test("what is stamped is read back to the millisecond, for any instant of the years 0000 to 9999", () => {
  const instant = fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 });
  fc.assert(fc.property(instant, (at) => instantOf(stampOf(at)) === at));
});

for (const at of [Number.NaN, Infinity, -Infinity, -62_167_219_200_001, 253_402_300_800_000]) {
  test(`${at} ms is no instant and is never stamped`, () => {
    assert.equal(isInstant(at), false);
    assert.throws(() => stampOf(at), { code: "THROUGHLINE_INVALID" });
  });
}
