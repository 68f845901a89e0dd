import assert from "node:assert/strict";
import { test } from "node:test";
import { type ClockReading, reading } from "./clock-reading.ts";
import { gapAtDelivery, gapBetween, judgeGap, lastSignOfLife } from "./gap.ts";
import { restartKind } from "./restart.ts";

const noon = Date.UTC(2026, 2, 1, 12);
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** As the clocks of a machine, or a file, tell it. */
const told = ({ at, bootId, uptimeMs }: ClockReading) => reading(at, bootId, uptimeMs);
/** `undefined` stands for an unknown boot. */
const at = (ms: number, bootId?: string, uptimeMs?: number): ClockReading => ({
  at: noon + ms,
  ...(bootId !== undefined && { bootId }),
  ...(uptimeMs !== undefined && { uptimeMs }),
});

type Row = readonly [
  what: string,
  last: ClockReading | undefined,
  now: ClockReading,
  gapMs: number | undefined,
  certainty: string,
];
const rows: readonly Row[] = [
  ["nothing before", undefined, at(0, "a", 0), undefined, "uncertain"],
  ["one boot", at(0, "a", 5_000), at(9_000, "a", 14_000), 9_000, "certain"],
  ["one boot, clock set back a day", at(0, "a", 5_000), at(-dayMs, "a", 8_000), 3_000, "certain"],
  ["one boot, clock set ahead", at(0, "a", 5_000), at(dayMs, "a", 8_000), 3_000, "certain"],
  [
    "one boot, no wall clock",
    { at: undefined, bootId: "a", uptimeMs: 1 },
    at(0, "a", 4),
    3,
    "certain",
  ],
  ["one boot, the same moment", at(0, "a", 5_000), at(0, "a", 5_000), 0, "certain"],
  ["one boot, uptime gone back", at(0, "a", 5_000), at(60_000, "a", 4_999), 60_000, "uncertain"],
  ["another boot", at(0, "a", 5_000), at(dayMs, "b", 60_000), dayMs, "clock"],
  ["another boot, up for longer", at(0, "a", 5_000), at(10_000, "b", 10_001), 10_000, "uncertain"],
  ["another boot, up as long", at(0, "a", 5_000), at(10_000, "b", 10_000), 10_000, "clock"],
  ["another boot, clock set back", at(0, "a", 5_000), at(-600_000, "b", 9), 0, "uncertain"],
  ["no known boot", at(0), at(29_999), 29_999, "clock"],
  ["no known boot, clock set back 600 s", at(0), at(-600_000), 0, "uncertain"],
  ["no known boot, back by 1 ms", at(0), at(-1), 0, "uncertain"],
  ["a boot without uptime", at(0, "a"), at(5, "a"), 5, "clock"],
  ["a wall clock that is not a number", { at: Number.NaN }, at(0), undefined, "uncertain"],
  ["a wall clock past every year", { at: 1e300 }, at(0), undefined, "uncertain"],
  ["a clock of now that is not a number", at(0), { at: Number.NaN }, undefined, "uncertain"],
  ["an uptime below 0", at(0, "a", -1), at(7, "a", 9), 7, "clock"],
  ["an uptime past every machine", at(0, "a", 1e300), at(7, "a", 9), 7, "clock"],
  ["boots that are no text", { at: noon, bootId: {} as string, uptimeMs: 1 }, at(7), 7, "clock"],
  ["empty boots", at(0, "", 1), at(7, "", 2), 7, "clock"],
];
for (const [what, last, now, gapMs, certainty] of rows) {
  test(`with ${what} the gap is ${gapMs} ms, ${certainty}`, () => {
    assert.deepEqual(gapBetween(last && told(last), told(now)), { gapMs, certainty });
  });
}

const now = at(0, "a", 100_000);
const signs: readonly (readonly [string, readonly (ClockReading | undefined)[], number])[] = [
  ["no signs", [undefined, { at: undefined }], -1],
  ["wall clocks alone: the latest", [at(-9), undefined, at(-3), at(-5)], 2],
  ["one of this boot beside later wall clocks", [at(-3), at(-9, "a", 50_000), at(50)], 1],
  ["two of this boot: by the uptime", [at(-1, "a", 50_000), at(-9, "a", 60_000)], 1],
  ["one of this boot that is not over yet", [at(-1, "a", 100_001), at(-9, "a", 60_000)], 1],
  [
    "one of this boot without a wall clock",
    [at(-1), { at: undefined, bootId: "a", uptimeMs: 1 }],
    1,
  ],
  ["one of another boot, later", [at(-9), at(-1, "b", 900_000)], 1],
];
for (const [what, given, index] of signs) {
  test(`with ${what}, sign ${index} is the last sign of life`, () => {
    const last = lastSignOfLife(given, now);
    assert.deepEqual(last, given[index]);
  });
}

// R6.
test("who wakes the companion 3 h after its boot was away for 3 h and the gap before it", () => {
  for (const [boot, uptime, certainty] of [
    ["a", 10_000, "certain"],
    ["b", 4_000, "clock"],
  ] as const) {
    const judged = judgeGap([at(0, "a", 5_000)], at(5_000, boot, uptime));
    assert.equal(judged.gapMs, 5_000);
    const delivered = gapAtDelivery(judged, at(5_000 + 3 * hourMs, boot, uptime + 3 * hourMs));
    assert.deepEqual(delivered, { gapMs: 3 * hourMs + 5_000, certainty });
    assert.equal(restartKind({ ...delivered, clean: false }), "long_absence");
  }
});

test("after hours without a known time before the boot, the absence is long and uncertain", () => {
  const judged = judgeGap([], at(0, "a", 0));
  assert.equal(judged.gapMs, undefined);
  const delivered = gapAtDelivery(judged, at(0, "a", 2 * hourMs));
  assert.deepEqual(delivered, { gapMs: 2 * hourMs, certainty: "uncertain" });
});

test("a clock that is put right after the boot makes the gap the longer one, and uncertain", () => {
  const before = at(0, "a", 5_000);
  const stopped = judgeGap([before], at(-60_000, "b", 10_000));
  assert.deepEqual([stopped.gapMs, stopped.certainty], [0, "uncertain"]);
  const corrected = gapAtDelivery(stopped, at(3 * dayMs, "b", 20_000));
  assert.deepEqual(corrected, { gapMs: 3 * dayMs, certainty: "uncertain" });
  const ahead = judgeGap([before], at(3 * dayMs, "b", 10_000));
  assert.equal(ahead.certainty, "clock");
  const back = gapAtDelivery(ahead, at(20_000, "b", 20_000));
  assert.deepEqual(back, { gapMs: 3 * dayMs + 10_000, certainty: "uncertain" });
});
