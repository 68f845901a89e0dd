import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../test/support/held-clock.ts";
import type { Clock } from "../core/clock.ts";
import { isThroughlineError, ThroughlineError } from "../core/errors.ts";
import type { LogStore } from "../core/storage/log-store.ts";
import { openMemoryStorage } from "../core/storage/memory/memory-storage.ts";
import { judgeGap } from "./gap.ts";
import { judgeRestart } from "./restart.ts";
import { recordEnd, recordStart, restartsIn, runsProjection } from "./runs.ts";

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
type Known = Parameters<typeof recordStart>[2];
async function begin(logs: LogStore, known: Known = {}, clock: Clock = new HeldBootClock()) {
  const { restart, ...run } = await recordStart(
    logs,
    { clock, newId },
    known,
    (begun, previous) => {
      const gap = judgeGap([previous?.lastSign], begun.startedAt);
      return { ...judgeRestart(previous?.clean, gap, begun.totalRuns), previous };
    },
  );
  return { ...run, previous: restart.previous };
}
const endOf = (logs: LogStore, run: { readonly runId: string }, reason = "closed") =>
  recordEnd(logs, new HeldBootClock(), run, reason);
const countIn = async (logs: LogStore) => (await logs.tail("runs", 0))?.head["total_sessions"];

async function recordsOf(logs: LogStore) {
  return (await logs.tail("runs", 1_000))?.records ?? [];
}

test("a boot is one record with run, boot of the machine, uptime, number and pid", async () => {
  const logs = memoryLogs();
  const begun = await begin(logs, { pid: 7 });
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
    restart: {
      kind: "fresh_start",
      clean: true,
      total_sessions: 1,
      certainty: "certain",
      gap_ms: 0,
      judged: { at: "2026-03-01T12:00:00.000Z", boot_id: "boot-a", uptime_ms: 50_000 },
    },
    pid: 7,
  });
});

// R1: three kills in a row, before anything else was written.
test("each of 3 runs that were killed is unclean, and counted", async () => {
  const logs = memoryLogs();
  const clock = new HeldBootClock();
  let before: string | undefined;
  for (const total of [1, 2, 3]) {
    const begun = await begin(logs, {}, clock);
    assert.equal(begun.totalRuns, total);
    assert.equal(begun.previous?.runId, before);
    if (total > 1) assert.equal(begun.previous?.clean, false);
    before = begun.runId;
    clock.pass(5_000);
  }
  assert.equal(await countIn(logs), 3);
  // Of one that another program wrote nothing is known, and nothing is made up.
  const start = { kind: "run_start", run_id: "0000000a", total_sessions: 4 };
  for (const restart of [undefined, { kind: "a nap" }]) {
    await logs.append("runs", [{ ...start, id: newId(), ...(restart && { restart }) }]);
  }
  assert.deepEqual(
    (await restartsIn(logs)).map(({ totalRuns, kind, gapMs }) => [totalRuns, kind, gapMs]),
    [
      [1, "fresh_start", 0],
      [2, "crash_recovery", 5_000],
      [3, "crash_recovery", 5_000],
    ],
  );
});

test("ending twice, at once too, is ending once; a reason that is no word is THROUGHLINE_INVALID", async () => {
  const logs = memoryLogs();
  const run = await begin(logs);
  await Promise.all([endOf(logs, run), endOf(logs, run)]);
  await endOf(logs, run);
  const kinds = (await recordsOf(logs)).map(({ id, kind, reason }) => [id, kind, reason]);
  assert.deepEqual(kinds, [
    [kinds[0]?.[0], "run_start", undefined],
    [`${kinds[0]?.[0]}.end`, "run_end", "closed"],
  ]);
  for (const reason of ["", "two words", "x".repeat(65)]) {
    await assert.rejects(endOf(logs, run, reason), (e) =>
      isThroughlineError(e, "THROUGHLINE_INVALID"),
    );
  }
});

test("runs that another place knows of count, unless what it says is no number", async () => {
  const logs = memoryLogs();
  assert.equal((await begin(logs, { atLeast: 42 })).totalRuns, 43);
  assert.equal((await begin(logs, { atLeast: 42 })).totalRuns, 44);
  for (const atLeast of [-1, 1.5, Number.NaN, 1e300, "99" as unknown as number]) {
    const { totalRuns } = await begin(logs, { atLeast });
    assert.equal(totalRuns, await countIn(logs));
  }
  assert.equal(await countIn(logs), 49);
});

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
    "a start behind 50 other records",
    [start(a), ...Array.from({ length: 50 }, () => ({}))],
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
    const { previous } = await begin(logs);
    assert.deepEqual([previous?.runId, previous?.clean], [run, clean]);
  });
}

test("of two runs that begin at once, one is the run before the other", async () => {
  const logs = memoryLogs();
  const [first, second] = await Promise.all([begin(logs), begin(logs)]);
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
  const begun = await begin(doubtful);
  assert.deepEqual([begun.totalRuns, begun.previous], [1, undefined]);
  assert.equal((await recordsOf(logs)).length, 1);
});
