import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readClock, reading, readReading, storedReading } from "./boot-clock.ts";

const noon = Date.UTC(2026, 2, 1, 12);

test("a reading is stored with its instant in ISO 8601, and reads back equal", () => {
  const clock = { now: () => noon, monotonic: () => 0, bootId: () => "b-1", uptimeMs: () => 12.5 };
  const stored = storedReading(readClock(clock));
  assert.deepEqual(stored, { at: "2026-03-01T12:00:00.000Z", boot_id: "b-1", uptime_ms: 12.5 });
  assert.deepEqual(readReading(stored), { at: noon, bootId: "b-1", uptimeMs: 12.5 });
});

test("a machine that tells neither boot nor uptime has a reading of the wall clock alone", () => {
  const silent = { now: () => noon, monotonic: () => 0, bootId: () => undefined };
  assert.deepEqual(readClock({ ...silent, uptimeMs: () => undefined }), { at: noon });
});

const unread: readonly unknown[] = [
  ...[undefined, null, 5, "x", [], {}],
  ...[
    { at: "yesterday" },
    { at: 5 },
    { boot_id: "a" },
    { uptime_ms: 5 },
    { boot_id: "a b", uptime_ms: 1 },
  ],
  ...[
    { boot_id: "a".repeat(65), uptime_ms: 1 },
    { boot_id: "a", uptime_ms: -1 },
  ],
];
for (const stored of unread) {
  test(`${JSON.stringify(stored)?.slice(0, 40)} is no reading`, () => {
    assert.equal(readReading(stored), undefined);
  });
}

test("any reading can be stored, and what was stored reads back as itself", () => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), fc.anything(), (at, bootId, uptimeMs) => {
      const given = reading(at, bootId, uptimeMs);
      const stored = JSON.parse(JSON.stringify(storedReading(given)));
      const read = readReading(stored);
      if (read !== undefined) assert.deepEqual(read, given);
    }),
  );
});
