import assert from "node:assert/strict";
import { test } from "node:test";
import { changed } from "../../test/support/changed.ts";
import { columns } from "../../test/support/columns.ts";
import { HeldBootClock } from "../../test/support/companion-home.ts";
import type { Clock } from "../core/clock.ts";
import { ThroughlineError } from "../core/errors.ts";
import type { LogStore } from "../core/storage/log-store.ts";
import { openMemoryStorage } from "../core/storage/memory/memory-storage.ts";
import {
  type ClockReading,
  gapAtDelivery,
  gapBetween,
  judgeGap,
  lastSignOfLife,
  reading,
} from "./gap.ts";
import {
  judgedAgain,
  judgeRestart,
  type RestartFacts,
  type RestartKind,
  restartKind,
  restartReport,
} from "./restart.ts";
import { recordEnd, recordStart, restartsIn, runsProjection } from "./runs.ts";

type Row = readonly [
  clean: boolean,
  gapMs: number | undefined,
  certainty: "certain" | "clock" | "uncertain",
  kind: RestartKind,
];
const rows: readonly Row[] = [
  [false, 0, "certain", "crash_recovery"],
  [false, 29_999, "certain", "crash_recovery"],
  [false, 30_000, "certain", "short_break"],
  [true, 2_000, "certain", "short_break"],
  [true, 3_599_999, "certain", "short_break"],
  [true, 3_600_000, "certain", "long_absence"],
  [false, 86_400_000, "clock", "long_absence"], // R7
  [true, 0, "uncertain", "short_break"], // R8
  [false, 29_999, "uncertain", "short_break"],
  [false, 3_600_000, "uncertain", "long_absence"],
  [false, undefined, "uncertain", "short_break"],
  [false, Number.NaN, "certain", "short_break"],
  [false, -600_000, "clock", "short_break"], // R18
];
test("the kind of a restart follows from how the run before ended, the gap and its certainty", () => {
  assert.equal(restartKind(undefined), "fresh_start");
  for (const [clean, gapMs, certainty, kind] of rows) {
    const what = `${clean ? "a clean" : "an unclean"} exit ${gapMs} ms ago (${certainty})`;
    assert.equal(restartKind({ clean, gapMs, certainty }), kind, what);
  }
});

const noon = Date.UTC(2026, 2, 1, 12);
const boot = { at: noon, bootId: "a", uptimeMs: 100_000 };
const gap = judgeGap([{ at: noon - 10_000, bootId: "a", uptimeMs: 90_000 }], boot);
const nothing: RestartFacts = {
  previous: undefined,
  document: undefined,
  hasChats: false,
  gap: judgeGap([], boot),
  totalRuns: 1,
  interrupted: [],
  quarantined: 0,
};

test("the report of a fresh start has a certain gap of 0 and session 1, however late it is judged", () => {
  assert.deepEqual(restartReport(nothing), {
    kind: "fresh_start",
    clean: true,
    gapMs: 0,
    certainty: "certain",
    totalRuns: 1,
    before: undefined,
    judgedAt: boot,
    interrupted: [],
    quarantined: 0,
    previousRunId: undefined,
  });
  const gap0 = { gapMs: 0, certainty: "certain" };
  const late = judgedAgain(restartReport(nothing), { ...boot, uptimeMs: 100_000_000 });
  assert.deepEqual(late, { kind: "fresh_start", gap: gap0 });
});

const document = { shutdownClean: true, runId: "0a1b2c3d" };
const open = [{ chatId: "c", messageId: "m" }];
const unclean = { ...document, shutdownClean: false };
const damaged = { document: "unreadable" } as const;
type Found = readonly [what: string, Partial<RestartFacts>, clean: boolean, runId?: string];
const found: readonly Found[] = [
  ["a run that was killed", { previous: { runId: "r", clean: false }, document }, false, "r"],
  ["a run that ended in order", { previous: { runId: "r", clean: true }, document }, true, "r"],
  ["runs unreadable, the document too", { previous: { clean: undefined }, ...damaged }, false],
  ["a document of the original, clean", { document }, true, "0a1b2c3d"],
  ["a document of the original, unclean", { document: unclean }, false, "0a1b2c3d"],
  ["a document that cannot be read", damaged, false],
  ["chats alone, one cut off", { hasChats: true, interrupted: open }, false],
];
for (const [what, facts, clean, previousRunId] of found) {
  const kind = clean ? "short_break" : "crash_recovery";
  test(`${what}, 10 s ago: ${kind}, previous run ${previousRunId}`, () => {
    const report = restartReport({ ...nothing, gap, totalRuns: 7, quarantined: 2, ...facts });
    assert.partialDeepStrictEqual(report, {
      ...{ kind, clean, gapMs: 10_000, certainty: "certain", totalRuns: 7, quarantined: 2 },
      interrupted: facts.interrupted ?? [],
    });
    assert.equal(report.previousRunId, previousRunId);
    assert.equal(report.interrupted.length, facts.interrupted?.length ?? 0);
  });
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
  assert.deepEqual(columns(await restartsIn(logs), "totalRuns", "kind", "gapMs"), [
    [1, "fresh_start", 0],
    [2, "crash_recovery", 5_000],
    [3, "crash_recovery", 5_000],
  ]);
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
    await assert.rejects(endOf(logs, run, reason), { code: "THROUGHLINE_INVALID" });
  }
});

const [a, b] = ["aaaaaaaa", "bbbbbbbb"];
const start = (run_id: string | undefined) => ({ kind: "run_start", run_id });
const end = (run_id: string | undefined) => ({ kind: "run_end", run_id });
type RunLog = readonly [
  what: string,
  records: readonly object[],
  run: string | undefined,
  clean: boolean | undefined,
];
const runLogs: readonly RunLog[] = [
  ["a start", [start(a)], a, false],
  ["a start and its end", [start(a), end(a)], a, true],
  ["an end whose start is lost", [start(a), end(a), end(b)], b, true],
  ["the end of a run before, stored late", [start(a), start(b), end(a)], b, false],
  ["others after a start", [start(a), { kind: "note" }, {}, { kind: 5, run_id: a }], a, false],
  ["no run at all", [{}, { kind: "note" }], undefined, undefined],
];
for (const [what, records, run, clean] of runLogs) {
  test(`a log with ${what} tells of run ${run}, clean: ${clean}`, async () => {
    const logs = memoryLogs();
    const numbered = records.map((record, i) => ({ ...record, id: `r${i}` }));
    await logs.append("runs", numbered);
    const { previous } = await begin(logs);
    assert.deepEqual([previous?.runId, previous?.clean], [run, clean]);
  });
}

test("of two runs that begin at once, one is the run before the other; one whose append got no answer is stored once", async () => {
  const logs = memoryLogs();
  const [first, second] = await Promise.all([begin(logs), begin(logs)]);
  assert.deepEqual([first.totalRuns, second.totalRuns].sort(), [1, 2]);
  const [earlier, later] = first.totalRuns === 1 ? [first, second] : [second, first];
  assert.deepEqual([earlier.previous, later.previous?.runId], [undefined, earlier.runId]);
  let unknown = 2;
  const doubtful = changed(logs, {
    async append(...given) {
      const seq = await logs.append(...given);
      if (unknown-- > 0) {
        throw new ThroughlineError("lost", { code: "THROUGHLINE_OUTCOME_UNKNOWN" });
      }
      return seq;
    },
  });
  const begun = await begin(doubtful);
  assert.deepEqual([begun.totalRuns, begun.previous?.runId], [3, later.runId]);
  assert.equal((await recordsOf(logs)).length, 3);
});

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** As the clocks of a machine, or a file, tell it. */
const toldOf = ({ at, bootId, uptimeMs }: ClockReading) => reading(at, bootId, uptimeMs);
/** `undefined` stands for an unknown boot. */
const reads = (ms: number, bootId?: string, uptimeMs?: number): ClockReading => ({
  at: noon + ms,
  ...(bootId !== undefined && { bootId }),
  ...(uptimeMs !== undefined && { uptimeMs }),
});

const timeless: ClockReading = { at: undefined, bootId: "a", uptimeMs: 1 };
type Last = ClockReading | undefined;
type GapRow = readonly [string, last: Last, now: ClockReading, gapMs: number | undefined, string];
const gaps: readonly GapRow[] = [
  ["nothing before", undefined, reads(0, "a", 0), undefined, "uncertain"],
  ["one boot", reads(0, "a", 5_000), reads(9_000, "a", 14_000), 9_000, "certain"],
  ["one boot, clock a day back", reads(0, "a", 5_000), reads(-dayMs, "a", 8_000), 3_000, "certain"],
  ["one boot, no wall clock", timeless, reads(0, "a", 4), 3, "certain"],
  ["one boot, uptime back", reads(0, "a", 5_000), reads(6e4, "a", 4_999), 60_000, "uncertain"],
  ["another boot", reads(0, "a", 5_000), reads(dayMs, "b", 60_000), dayMs, "clock"],
  ["another boot, clock set back", reads(0, "a", 5_000), reads(-600_000, "b", 9), 0, "uncertain"],
  ["no known boot", reads(0), reads(29_999), 29_999, "clock"],
  ["no known boot, back by 1 ms", reads(0), reads(-1), 0, "uncertain"],
  ["a boot without uptime", reads(0, "a"), reads(5, "a"), 5, "clock"],
  ["a wall clock that is not a number", { at: Number.NaN }, reads(0), undefined, "uncertain"],
  ["a clock of now that is not a number", reads(0), { at: Number.NaN }, undefined, "uncertain"],
  ["an uptime below 0", reads(0, "a", -1), reads(7, "a", 9), 7, "clock"],
];
for (const [what, last, now, gapMs, certainty] of gaps) {
  test(`with ${what} the gap is ${gapMs} ms, ${certainty}`, () => {
    assert.deepEqual(gapBetween(last && toldOf(last), toldOf(now)), { gapMs, certainty });
  });
}

const now = reads(0, "a", 100_000);
const signs: readonly (readonly [string, readonly Last[], number])[] = [
  ["wall clocks alone: the latest", [reads(-9), undefined, reads(-3), reads(-5)], 2],
  ["one of this boot beside later wall clocks", [reads(-3), reads(-9, "a", 50_000), reads(50)], 1],
  ["two of this boot: by the uptime", [reads(-1, "a", 50_000), reads(-9, "a", 60_000)], 1],
  ["one of this boot without a wall clock", [reads(-1), timeless], 1],
  ["one of another boot, later", [reads(-9), reads(-1, "b", 900_000)], 1],
];
for (const [what, given, index] of signs) {
  test(`with ${what}, sign ${index} is the last sign of life`, () => {
    const last = lastSignOfLife(given, now);
    assert.deepEqual(last, given[index]);
  });
}

test("a clock that is put right after the boot makes the gap the longer one, and uncertain", () => {
  const before = reads(0, "a", 5_000);
  const stopped = judgeGap([before], reads(-60_000, "b", 10_000));
  assert.deepEqual([stopped.gapMs, stopped.certainty], [0, "uncertain"]);
  const corrected = gapAtDelivery(stopped, reads(3 * dayMs, "b", 20_000));
  assert.deepEqual(corrected, { gapMs: 3 * dayMs, certainty: "uncertain" });
  const ahead = judgeGap([before], reads(3 * dayMs, "b", 10_000));
  assert.equal(ahead.certainty, "clock");
  const back = gapAtDelivery(ahead, reads(20_000, "b", 20_000));
  assert.deepEqual(back, { gapMs: 3 * dayMs + 10_000, certainty: "uncertain" });
});
