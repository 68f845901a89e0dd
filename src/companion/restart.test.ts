import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { judgeGap } from "./gap.ts";
import {
  judgedAgain,
  type RestartFacts,
  type RestartKind,
  restartKind,
  restartReport,
} from "./restart.ts";

type Row = readonly [
  clean: boolean,
  gapMs: number | undefined,
  certainty: "certain" | "clock" | "uncertain",
  kind: RestartKind,
];
const rows: readonly Row[] = [
  [false, 0, "certain", "crash_recovery"],
  [false, 29_999, "certain", "crash_recovery"],
  [false, 29_999, "clock", "crash_recovery"],
  [false, 30_000, "certain", "short_break"],
  [false, 31_000, "certain", "short_break"], // R7
  [true, 0, "certain", "short_break"],
  [true, 2_000, "certain", "short_break"],
  [true, 29_999, "clock", "short_break"],
  [true, 3_599_999, "certain", "short_break"],
  [false, 3_599_999, "clock", "short_break"],
  [true, 3_600_000, "certain", "long_absence"],
  [false, 3_600_000, "clock", "long_absence"],
  [false, 86_400_000, "clock", "long_absence"], // R7
  [true, 0, "uncertain", "short_break"], // R8
  [false, 0, "uncertain", "short_break"], // rule 21
  [false, 29_999, "uncertain", "short_break"],
  [false, 3_600_000, "uncertain", "long_absence"],
  [true, undefined, "uncertain", "short_break"],
  [false, undefined, "uncertain", "short_break"],
  [false, Number.NaN, "certain", "short_break"],
  [false, -600_000, "clock", "short_break"], // R18
];
for (const [clean, gapMs, certainty, kind] of rows) {
  test(`${clean ? "a clean" : "an unclean"} exit ${gapMs} ms ago (${certainty}) is a ${kind}`, () => {
    assert.equal(restartKind({ clean, gapMs, certainty }), kind);
  });
}

test("without an earlier run, document or chat it is a fresh_start", () => {
  assert.equal(restartKind(undefined), "fresh_start");
});

test("no gap of an hour or more is a crash_recovery, however it is known", () => {
  const certainty = fc.constantFrom("certain" as const, "clock" as const, "uncertain" as const);
  fc.assert(
    fc.property(fc.double({ min: 3_600_000 }), certainty, fc.boolean(), (gapMs, word, clean) => {
      const kind = restartKind({ clean, gapMs, certainty: word });
      assert.equal(kind, Number.isNaN(gapMs) ? "short_break" : "long_absence");
    }),
  );
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

test("the report of a fresh start has a certain gap of 0 and session 1", () => {
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
});

const document = { shutdownClean: true, runId: "0a1b2c3d" };
const open = [{ chatId: "c", messageId: "m" }];
type Found = readonly [
  what: string,
  Partial<RestartFacts>,
  kind: RestartKind,
  clean: boolean,
  previousRunId: string | undefined,
];
const found: readonly Found[] = [
  [
    "a run that was killed",
    { previous: { runId: "r", clean: false }, document },
    "crash_recovery",
    false,
    "r",
  ],
  [
    "a run that ended in order",
    { previous: { runId: "r", clean: true }, document },
    "short_break",
    true,
    "r",
  ],
  [
    "runs of which none is readable",
    { previous: { clean: undefined }, document },
    "short_break",
    true,
    undefined,
  ],
  [
    "runs unreadable, the document too",
    { previous: { clean: undefined }, document: "unreadable" },
    "crash_recovery",
    false,
    undefined,
  ],
  ["a document of the original, clean", { document }, "short_break", true, "0a1b2c3d"],
  [
    "a document of the original, unclean",
    { document: { ...document, shutdownClean: false } },
    "crash_recovery",
    false,
    "0a1b2c3d",
  ],
  [
    "a document that cannot be read",
    { document: "unreadable" },
    "crash_recovery",
    false,
    undefined,
  ],
  [
    "an unreadable document beside a run",
    { document: "unreadable", previous: { runId: "r", clean: true } },
    "short_break",
    true,
    "r",
  ],
  ["chats alone", { hasChats: true }, "short_break", true, undefined],
  [
    "chats alone, one cut off",
    { hasChats: true, interrupted: open },
    "crash_recovery",
    false,
    undefined,
  ],
];
for (const [what, facts, kind, clean, previousRunId] of found) {
  test(`${what}, 10 s ago: ${kind}, clean ${clean}, previous run ${previousRunId}`, () => {
    const report = restartReport({ ...nothing, gap, totalRuns: 7, quarantined: 2, ...facts });
    const { gapMs, certainty, totalRuns, quarantined, interrupted } = report;
    assert.deepEqual(
      [report.kind, report.clean, report.previousRunId],
      [kind, clean, previousRunId],
    );
    assert.deepEqual([gapMs, certainty, totalRuns, quarantined], [10_000, "certain", 7, 2]);
    assert.deepEqual(interrupted, facts.interrupted ?? []);
  });
}

const later: readonly (readonly [afterMs: number, clean: boolean, kind: RestartKind])[] = [
  [0, false, "crash_recovery"],
  [19_999, false, "crash_recovery"],
  [20_000, false, "short_break"],
  [0, true, "short_break"],
  [3_589_999, true, "short_break"],
  [3_590_000, true, "long_absence"],
  [10_800_000, false, "long_absence"], // R6
];
for (const [afterMs, clean, kind] of later) {
  test(`a ${clean ? "clean" : "unclean"} gap of 10 s, judged ${afterMs} ms after the boot, is a ${kind}`, () => {
    const report = restartReport({ ...nothing, gap, previous: { runId: "r", clean } });
    const now = { at: noon - 86_400_000, bootId: "a", uptimeMs: 100_000 + afterMs };
    const gapMs = 10_000 + afterMs;
    assert.deepEqual(judgedAgain(report, now), { kind, gap: { gapMs, certainty: "certain" } });
  });
}

test("a fresh start is one however late it is judged", () => {
  const now = { ...boot, uptimeMs: 100_000_000 };
  const gap0 = { gapMs: 0, certainty: "certain" };
  assert.deepEqual(judgedAgain(restartReport(nothing), now), { kind: "fresh_start", gap: gap0 });
});
