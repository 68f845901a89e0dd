import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  closeSchedule,
  dueWrite,
  newSaveSchedule,
  type SaveSchedule,
  stateChanged,
  writeFailed,
  writeStarted,
  writeSucceeded,
} from "./save-schedule.ts";

const periods = { saveEveryMs: 30_000, heartbeatEveryMs: 10_000 };
const everyChange = { saveEveryMs: 0, heartbeatEveryMs: 10_000 };

/** Asks 50 times a second; a write takes `writeMs`, and fails while `fails` says so. */
function loop(
  forMs: number,
  given: {
    readonly options?: Partial<typeof periods>;
    readonly writeMs?: number;
    readonly fails?: (now: number) => boolean;
    readonly changesEveryMs?: number;
  } = {},
): readonly string[] {
  const { options = {}, writeMs = 0, fails = () => false, changesEveryMs = 0 } = given;
  let schedule = newSaveSchedule(0, { ...periods, ...options });
  let writing: { readonly write: "save" | "heartbeat"; readonly doneAt: number } | undefined;
  const writes: string[] = [];
  for (let now = 0; now <= forMs; now += 20) {
    if (changesEveryMs > 0 && now % changesEveryMs === 0) schedule = stateChanged(schedule, now);
    const due = dueWrite(schedule, now);
    if (due !== undefined) {
      assert.equal(writing, undefined, "one write at a time");
      schedule = writeStarted(schedule, due, now);
      writing = { write: due, doneAt: now + writeMs };
      writes.push(`${now / 1_000} ${due}`);
    }
    if (writing !== undefined && now >= writing.doneAt) {
      const hasFailed = fails(now);
      schedule = hasFailed
        ? writeFailed(schedule, writing.write, now)
        : writeSucceeded(schedule, now);
      writing = undefined;
    }
  }
  return writes;
}

// R13c.
test("a loop at 50 Hz writes 7 times in 60 s: a save every 30 s, heartbeats between them", () => {
  const writes = loop(60_000);
  const heartbeats = ["10 heartbeat", "20 heartbeat"];
  const others = ["30 save", "40 heartbeat", "50 heartbeat", "60 save"];
  assert.deepEqual(writes, ["0 save", ...heartbeats, ...others]);
  assert.ok(writes.length <= 8);
});

test("a loop at 50 Hz writes at most 8 times in 60 s when each write takes 400 ms", () => {
  assert.ok(loop(60_000, { writeMs: 400 }).length <= 8);
});

test("without failures a save every second leaves no heartbeat to write", () => {
  const writes = loop(5_000, { options: { saveEveryMs: 1_000 } });
  assert.deepEqual(writes, ["0 save", "1 save", "2 save", "3 save", "4 save", "5 save"]);
});

// R12.
test("a save that failed is tried again after 1, 2, 4, 8, 16, 30, 30 s", () => {
  const writes = loop(92_000, { fails: () => true });
  assert.deepEqual(
    writes,
    [0, 1, 3, 7, 15, 31, 61, 91].map((at) => `${at} save`),
  );
});

test("after a failure that is over, the intervals restart", () => {
  const writes = loop(35_000, { fails: (now) => now < 3_000 });
  const saved = ["0 save", "1 save", "3 save"];
  assert.deepEqual(writes, [...saved, "13 heartbeat", "23 heartbeat", "33 save"]);
});

test("a heartbeat that failed is tried again after 1 s, as a save once one is due", () => {
  const writes = loop(31_500, { fails: (now) => now >= 20_000 && now < 30_000 });
  const kept = ["0 save", "10 heartbeat", "20 heartbeat", "21 heartbeat", "23 heartbeat"];
  assert.deepEqual(writes, [...kept, "27 heartbeat"]);
  const longer = loop(36_000, { fails: (now) => now >= 20_000 && now < 30_000 });
  assert.deepEqual(longer.slice(6), ["35 save"]);
});

test("with saveEveryMs 0 every change is written, and only heartbeats without a change", () => {
  const options = { saveEveryMs: 0 };
  assert.deepEqual(loop(20_000, { options }), ["0 save", "10 heartbeat", "20 heartbeat"]);
  const writes = loop(6_000, { options, changesEveryMs: 2_000 });
  assert.deepEqual(writes, ["0 save", "2 save", "4 save", "6 save"]);
});

test("with saveEveryMs 0 a change during a write is written after it", () => {
  let schedule = newSaveSchedule(0, everyChange);
  schedule = stateChanged(writeStarted(schedule, "save", 0), 5);
  assert.equal(dueWrite(schedule, 6), undefined);
  assert.equal(dueWrite(writeSucceeded(schedule, 7), 7), "save");
});

test("with saveEveryMs 0 a change does not hurry a save that failed", () => {
  let schedule = newSaveSchedule(0, everyChange);
  schedule = writeFailed(writeStarted(schedule, "save", 0), "save", 0);
  schedule = stateChanged(schedule, 500);
  assert.equal(dueWrite(schedule, 999), undefined);
  assert.equal(dueWrite(schedule, 1_000), "save");
});

test("with saveEveryMs 0 and no heartbeat for days a change is written", () => {
  const options = { saveEveryMs: 0, heartbeatEveryMs: 1e9 };
  assert.deepEqual(loop(4_000, { options, changesEveryMs: 2_000 }), ["0 save", "2 save", "4 save"]);
});

test("nothing is due after the end, whatever is reported of a write that was under way", () => {
  const closed = closeSchedule(writeStarted(newSaveSchedule(0, periods), "save", 0));
  const after: readonly SaveSchedule[] = [
    closed,
    writeSucceeded(closed, 1),
    writeFailed(closed, "save", 1),
    writeStarted(closed, "save", 1),
    stateChanged(closed, 1),
    stateChanged(closeSchedule(newSaveSchedule(0, everyChange)), 1),
  ];
  for (const schedule of after) assert.equal(dueWrite(schedule, 1e12), undefined);
});

test("hours without being asked lead to one write, not to one for each period", () => {
  const slept = writeSucceeded(writeStarted(newSaveSchedule(0, periods), "save", 0), 0);
  const hours = 36_000_000;
  assert.equal(dueWrite(slept, hours), "save");
  const saved = writeSucceeded(writeStarted(slept, "save", hours), hours);
  assert.equal(dueWrite(saved, hours + 9_999), undefined);
});

test("a clock that is not a number makes nothing due", () => {
  assert.equal(dueWrite(newSaveSchedule(0, periods), Number.NaN), undefined);
});

test("with writes that fail at random, none is late by more than the last retry", () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 200, maxLength: 200 }), (outcomes) => {
      let schedule = newSaveSchedule(0, periods);
      let now = 0;
      for (const isStored of outcomes) {
        const wait = schedule.nextAt - now;
        assert.ok(wait >= 0 && wait <= 30_000, `${wait}`);
        assert.equal(dueWrite(schedule, schedule.nextAt - 1), undefined);
        now = schedule.nextAt;
        const due = dueWrite(schedule, now);
        assert.ok(due);
        const writing = writeStarted(schedule, due, now);
        schedule = isStored ? writeSucceeded(writing, now) : writeFailed(writing, due, now);
        if (isStored) assert.equal(schedule.failures, 0);
      }
    }),
    { numRuns: 200 },
  );
});
