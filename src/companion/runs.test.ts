import assert from "node:assert/strict";
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { HeldClock } from "../../test/support/held-clock.ts";
import type { Clock } from "../core/clock.ts";
import { isThroughlineError, ThroughlineError } from "../core/errors.ts";
import { openFileStorage } from "../core/storage/files/open-file-storage.ts";
import type { LogStore } from "../core/storage/log-store.ts";
import { openMemoryStorage } from "../core/storage/memory/memory-storage.ts";
import { RunsLog, runsProjection } from "./runs.ts";

class HeldBootClock extends HeldClock implements Clock {
  boot = "boot-a";
  bootId = () => this.boot;
  uptimeMs = () => 50_000 + this.monotonic();
}

function memoryLogs(): LogStore {
  return openMemoryStorage().logs("runs", runsProjection);
}

let ids = 0;
const newId = () => `id${++ids}`;
const runsOn = (logs: LogStore, clock: Clock = new HeldBootClock()) =>
  new RunsLog(logs, { clock, newId });

async function recordsOf(logs: LogStore) {
  return (await logs.tail("runs", 1_000))?.records ?? [];
}

test("a boot is one record with run, boot of the machine, uptime, number and pid", async () => {
  const logs = memoryLogs();
  const begun = await runsOn(logs).begin({ pid: 7 });
  assert.match(begun.runId, /^[0-9a-f]{8}$/);
  assert.deepEqual([begun.totalRuns, begun.previous], [1, undefined]);
  const [record, ...others] = await recordsOf(logs);
  assert.deepEqual(others, []);
  assert.deepEqual(record, {
    id: record?.id,
    seq: 1,
    kind: "run_start",
    run_id: begun.runId,
    total_sessions: 1,
    at: "2026-03-01T12:00:00.000Z",
    boot_id: "boot-a",
    uptime_ms: 50_000,
    pid: 7,
  });
});

// R1: three kills in a row, before anything else was written.
test("each of 3 runs that were killed is unclean, and counted", async () => {
  const logs = memoryLogs();
  const clock = new HeldBootClock();
  let before: string | undefined;
  for (const total of [1, 2, 3]) {
    const begun = await runsOn(logs, clock).begin();
    assert.equal(begun.totalRuns, total);
    assert.equal(begun.previous?.runId, before);
    if (total > 1) assert.equal(begun.previous?.clean, false);
    before = begun.runId;
    clock.pass(5_000);
  }
  assert.equal(await runsOn(logs).count(), 3);
});

test("beginning and ending twice, at once too, is beginning and ending once", async () => {
  const logs = memoryLogs();
  const runs = runsOn(logs);
  const [first, second] = await Promise.all([runs.begin(), runs.begin()]);
  assert.equal(first, second);
  await Promise.all([runs.end(), runs.end("signal")]);
  await runs.end();
  const kinds = (await recordsOf(logs)).map(({ kind, reason }) => [kind, reason]);
  assert.deepEqual(kinds, [
    ["run_start", undefined],
    ["run_end", "closed"],
  ]);
});

test("an end before the beginning, and a reason that is no word, are THROUGHLINE_INVALID", async () => {
  const runs = runsOn(memoryLogs());
  await assert.rejects(runs.end(), (error) => isThroughlineError(error, "THROUGHLINE_INVALID"));
  await runs.begin();
  for (const reason of ["", "two words", "x".repeat(65)]) {
    await assert.rejects(runs.end(reason), (e) => isThroughlineError(e, "THROUGHLINE_INVALID"));
  }
});

test("runs that another place knows of count, unless what it says is no number", async () => {
  const logs = memoryLogs();
  assert.equal((await runsOn(logs).begin({ atLeast: 42 })).totalRuns, 43);
  assert.equal((await runsOn(logs).begin({ atLeast: 42 })).totalRuns, 44);
  for (const atLeast of [-1, 1.5, Number.NaN, 1e300, "99" as unknown as number]) {
    const { totalRuns } = await runsOn(logs).begin({ atLeast });
    assert.equal(totalRuns, await runsOn(logs).count());
  }
  assert.equal(await runsOn(logs).count(), 49);
});

for (const head of [{}, { total_sessions: "7" }, { total_sessions: -1 }, { total_sessions: 9 }]) {
  test(`with the head ${JSON.stringify(head)} the runs are counted from the records`, async () => {
    const logs = memoryLogs();
    await runsOn(logs).begin({ atLeast: 4 });
    const second = runsOn(logs);
    await second.begin();
    await second.end();
    await logs.append("runs", [{ id: "x", note: "by hand" }], { head });
    assert.equal(await runsOn(logs).count(), 6);
    assert.equal((await runsOn(logs).begin()).totalRuns, 7);
  });
}

function bound(logs: LogStore): LogStore {
  return {
    append: (...given) => logs.append(...given),
    tail: (...given) => logs.tail(...given),
    page: (...given) => logs.page(...given),
    read: (...given) => logs.read(...given),
    find: (...given) => logs.find(...given),
    findAll: (...given) => logs.findAll(...given),
    erase: (...given) => logs.erase(...given),
    delete: (...given) => logs.delete(...given),
    list: (...given) => logs.list(...given),
    search: (...given) => logs.search(...given),
  };
}

const [a, b, c] = ["aaaaaaaa", "bbbbbbbb", "cccccccc"];
const start = (run_id: string | undefined) => ({ kind: "run_start", run_id });
const end = (run_id: string | undefined) => ({ kind: "run_end", run_id });
type Told = readonly [
  what: string,
  records: readonly object[],
  run: string | undefined,
  clean: boolean | undefined,
];
const told: readonly Told[] = [
  ["a start", [start(a)], a, false],
  ["a start and its end", [start(a), end(a)], a, true],
  ["a start after an end", [start(a), end(a), start(b)], b, false],
  ["an end whose start is lost", [start(a), end(a), end(b)], b, true],
  ["the end of a run before, stored late", [start(a), start(b), end(a)], b, false],
  ["an end alone", [end(a)], a, true],
  [
    "other records after a start",
    [start(a), { kind: "note" }, {}, { kind: 5, run_id: a }],
    a,
    false,
  ],
  ["a start whose run is no id", [start(a), end(a), { kind: "run_start", run_id: "B" }], a, true],
  ["a start without a run", [start(a), start(undefined)], a, false],
  [
    "a start whose moment is text",
    [start(a), end(a), { ...start(c), at: "?", uptime_ms: "?" }],
    c,
    false,
  ],
  ["no run at all", [{}, { kind: "note" }], undefined, undefined],
  [
    "a start behind 500 other records",
    [start(a), ...Array.from({ length: 500 }, () => ({}))],
    a,
    false,
  ],
];
for (const [what, records, run, clean] of told) {
  test(`a log with ${what} tells of run ${run}, clean: ${clean}`, async () => {
    const logs = memoryLogs();
    await logs.append(
      "runs",
      records.map((record, i) => ({ ...record, id: `r${i}` })),
    );
    const last = await runsOn(logs).last();
    assert.deepEqual([last?.runId, last?.clean], [run, clean]);
    assert.equal((await runsOn(logs).begin()).previous?.runId, run);
  });
}

test("of two runs that begin at once, one is the run before the other", async () => {
  const logs = memoryLogs();
  const [first, second] = await Promise.all([runsOn(logs).begin(), runsOn(logs).begin()]);
  assert.deepEqual([first.totalRuns, second.totalRuns].sort(), [1, 2]);
  const [earlier, later] = first.totalRuns === 1 ? [first, second] : [second, first];
  assert.deepEqual([earlier.previous, later.previous?.runId], [undefined, earlier.runId]);
});

test("an append whose outcome is unknown is given again, and the run is stored once", async () => {
  const logs = memoryLogs();
  let unknown = 2;
  const doubtful: LogStore = {
    ...bound(logs),
    async append(...given) {
      const seq = await logs.append(...given);
      if (unknown-- > 0) {
        throw new ThroughlineError("lost", { code: "THROUGHLINE_OUTCOME_UNKNOWN" });
      }
      return seq;
    },
  };
  const begun = await runsOn(doubtful).begin();
  assert.deepEqual([begun.totalRuns, begun.previous], [1, undefined]);
  assert.equal((await recordsOf(logs)).length, 1);
});

test("a boot whose outcome stays unknown rejects, and tried again it is there once", async () => {
  const logs = memoryLogs();
  const before = await runsOn(logs).begin();
  let isDoubtful = true;
  const doubtful: LogStore = {
    ...bound(logs),
    async append(...given) {
      const seq = await logs.append(...given);
      if (!isDoubtful) return seq;
      throw new ThroughlineError("lost", { code: "THROUGHLINE_OUTCOME_UNKNOWN" });
    },
  };
  const clock = new HeldBootClock();
  const runs = runsOn(doubtful, clock);
  await assert.rejects(runs.begin(), (e) => isThroughlineError(e, "THROUGHLINE_OUTCOME_UNKNOWN"));
  isDoubtful = false;
  clock.pass(1_000);
  const begun = await runs.begin();
  assert.deepEqual([begun.totalRuns, begun.previous?.runId], [2, before.runId]);
  assert.equal((await recordsOf(logs)).length, 2);
});

test("a boot that could not be stored rejects, and may be tried again", async () => {
  const logs = memoryLogs();
  let isDown = true;
  const failing: LogStore = {
    ...bound(logs),
    append: (...given) =>
      isDown
        ? Promise.reject(new ThroughlineError("full", { code: "THROUGHLINE_UNAVAILABLE" }))
        : logs.append(...given),
  };
  const runs = runsOn(failing);
  await assert.rejects(runs.begin(), (e) => isThroughlineError(e, "THROUGHLINE_UNAVAILABLE"));
  isDown = false;
  const { runId } = await runs.begin();
  isDown = true;
  await assert.rejects(runs.end(), (e) => isThroughlineError(e, "THROUGHLINE_UNAVAILABLE"));
  isDown = false;
  await runs.end();
  assert.deepEqual(
    (await recordsOf(logs)).map(({ run_id }) => run_id),
    [runId, runId],
  );
});

test("in a home the runs lie in runs.jsonl, and survive torn, foreign and damaged bytes", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "throughline-runs-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const file = join(home, "runs.jsonl");
  const boot = async () => {
    const storage = await openFileStorage({ home });
    const runs = runsOn(storage.logs("", runsProjection));
    const begun = await runs.begin();
    return { storage, runs, begun };
  };
  const first = await boot();
  await first.runs.end();
  await first.storage.close();
  assert.ok(readdirSync(home).includes("runs.jsonl"));
  appendFileSync(file, '{"kind":"run_start","run_id":"dead');
  const second = await boot();
  assert.deepEqual(
    [second.begun.previous?.runId, second.begun.previous?.clean, second.begun.totalRuns],
    [first.begun.runId, true, 2],
  );
  await second.storage.close();
  const bytes = readFileSync(file, "utf8");
  writeFileSync(file, bytes.replace('"reason":"closed"', '"reason":"c1osed"'));
  const third = await boot();
  assert.deepEqual(
    [third.begun.previous?.runId, third.begun.previous?.clean, third.begun.totalRuns],
    [second.begun.runId, false, 3],
  );
  await third.storage.close();
});
