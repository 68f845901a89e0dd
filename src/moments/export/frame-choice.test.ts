import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { FrameEntry } from "../package/record.ts";
import { chooseFrames } from "./frame-choice.ts";

function frame(t_ms: number | null): FrameEntry {
  const unknown = { timestamp: null, seq: null, camera: null, source_t_ms: null };
  return { file: `frames/${t_ms}.jpg`, t_ms, width: 1, height: 1, ...unknown };
}
const every = (ms: number, from: number, to: number) =>
  Array.from({ length: Math.floor((to - from) / ms) + 1 }, (_, n) => frame(from + n * ms));
const times = (frames: readonly FrameEntry[]) => frames.map(({ t_ms }) => t_ms);

const rows: readonly (readonly [
  says: string,
  frames: readonly FrameEntry[],
  startMs: number | null,
  max: number,
  chosen: readonly (number | null)[],
])[] = [
  ["no pictures", [], -5_000, 8, []],
  ["a maximum of none", every(500, -2_000, 0), -1_000, 0, []],
  ["pictures after the trigger alone", every(500, 500, 2_000), -1_000, 8, []],
  ["pictures without a time", [frame(null)], -1_000, 8, []],
  ["pictures of long before the turn", every(500, -60_000, -20_000), -5_000, 8, []],
  ["one shortly before the turn", [frame(-9_000)], -5_000, 8, [-9_000]],
  ["fewer than the maximum", every(1_000, -3_000, 2_000), -2_100, 8, [-3_000, -2_000, -1_000, 0]],
  ["many", every(500, -120_000, 10_000), -10_000, 3, [-10_000, -5_000, 0]],
  ["many, and room for one", every(500, -120_000, 10_000), -10_000, 1, [0]],
  ["many, in no order", every(500, -9_000, 0).reverse(), -9_000, 3, [-9_000, -4_500, 0]],
  ["a turn whose start is not known", every(500, -8_000, 0), null, 3, [-8_000, -4_000, 0]],
  ["a start after the trigger", every(500, -2_000, 2_000), 700, 8, [0]],
];
for (const [says, frames, startMs, max, chosen] of rows) {
  test(`of ${says}, ${max} at most from ${startMs} ms, ${chosen.length} are chosen: ${chosen}`, () => {
    assert.deepEqual(times(chooseFrames(frames, startMs, max)), chosen);
  });
}

test("any choice is within the maximum, in order, without repeats, and shows no reaction", () => {
  const anyFrames = fc.array(fc.option(fc.integer({ min: -120_000, max: 30_000 })), {
    maxLength: 60,
  });
  const anyStart = fc.option(fc.integer({ min: -120_000, max: 0 }));
  fc.assert(
    fc.property(anyFrames, anyStart, fc.integer({ min: 1, max: 10 }), (list, start, max) => {
      const chosen = times(chooseFrames([...new Set(list)].map(frame), start, max));
      assert.ok(chosen.length <= max);
      assert.deepEqual(
        chosen,
        [...new Set(chosen)].toSorted((a, b) => (a ?? 0) - (b ?? 0)),
      );
      for (const t of chosen) assert.ok(t !== null && t <= 0);
      // The last picture before the trigger always is among them.
      const may = list.filter((t) => t !== null && t <= 0 && t >= (start ?? -1e9) - 5_000);
      const best = may.filter((t) => t !== null).toSorted((a, b) => b - a)[0];
      if (best !== undefined) assert.ok(chosen.includes(best));
    }),
  );
});
