import assert from "node:assert/strict";
import { test } from "node:test";
import type { PackageAudio } from "../api/openapi-types.ts";
import {
  audioTimeAt,
  frameAt,
  placeOf,
  sampleAt,
  stripOf,
  timeInWords,
  timelineOf,
  wordsAt,
} from "./timeline.ts";

/** Four seconds. */
const audio: PackageAudio = {
  rate_hz: 16_000,
  samples: 64_000,
  start_t_ms: -5_000,
};

function feedback(times: readonly (number | null)[], sound: PackageAudio | null = null) {
  const frames = times.map((at, index) => ({ file: `frames/00000${index}.jpg`, t_ms: at }));
  return { frames, audio: sound };
}

test("a line of time reaches over the pictures and the sound", () => {
  const line = timelineOf(feedback([-6_000, 500], audio));
  assert.deepEqual([line?.from, line?.to], [-6_000, 500]);
  assert.deepEqual(timelineOf(feedback([-6_000]))?.to, 0, "up to the reaction");
  assert.equal(timelineOf(feedback([], { ...audio, start_t_ms: null })), undefined);
  assert.equal(timelineOf(feedback([])), undefined);
});

test("pictures without times are half a second apart", () => {
  const line = timelineOf(feedback([null, null]));
  assert.deepEqual(
    line?.frames.map(({ at }) => at),
    [-1_000, -500],
  );
});

for (const [at, file] of [
  [-9_000, "frames/000000.jpg"],
  [-3_000, "frames/000000.jpg"],
  [-2_000, "frames/000001.jpg"],
  [0, "frames/000001.jpg"],
] as const) {
  test(`the picture at ${at} ms is ${file}`, () => {
    const line = timelineOf(feedback([-4_000, -2_000]));
    assert.ok(line);
    assert.equal(frameAt(line, at)?.file, file);
  });
}

test("words on the line last to the next ones, and long before it there are none", () => {
  const said = (text: string, at: number | null) =>
    ({ role: "USER", text, id: text, seq: 1, t_ms: at }) as const;
  const messages = [said("old", -60_000), said("b", -1_000), said("a", -20_000), said("?", null)];
  const line = timelineOf(feedback([-8_000, -500]), messages);
  assert.ok(line);
  assert.deepEqual([line.from, line.to], [-20_000, 0]);
  assert.deepEqual(line.words, [
    { role: "USER", text: "a", at: -20_000, until: -1_000 },
    { role: "USER", text: "b", at: -1_000, until: 0 },
  ]);
  assert.equal(wordsAt(line, -20_001), undefined);
  assert.equal(wordsAt(line, -1_001)?.text, "a");
  assert.equal(wordsAt(line, 0)?.text, "b");
});

test("a strip has for each part of the line the last picture in it, or before it", () => {
  const line = timelineOf(feedback([-6_000, -5_000, -1_000]), [
    { role: "USER", text: "a", id: "a", seq: 1, t_ms: -8_000 },
  ]);
  assert.ok(line);
  const files = stripOf(line, 4).map((frame) => frame?.file.at(-5));
  assert.deepEqual(files, ["0", "1", "1", "2"]);
  assert.equal(stripOf(line, 8)[0], undefined);
});

for (const [at, place] of [
  [-8_000, 0],
  [-2_000, 75],
  [0, 100],
  [9_000, 100],
] as const) {
  test(`${at} ms lie at ${place} % of a line of 8 s`, () => {
    assert.equal(placeOf({ from: -8_000, to: 0 }, at), place);
  });
}

for (const [sample, at] of [
  [0, -5_000],
  [16_000, -4_000],
  [32_000, -3_000],
  [64_000, -1_000],
] as const) {
  test(`sample ${sample} was heard at ${at} ms, and back`, () => {
    assert.equal(audioTimeAt(audio, sample), at);
    assert.equal(sampleAt(audio, at), sample);
  });
}

test("before the first sample the first plays, and after the last the last", () => {
  assert.equal(sampleAt(audio, -9_000), 0);
  assert.equal(sampleAt(audio, 0), 64_000);
});

for (const [at, words] of [
  [-2_500, "2.5 s before"],
  [1_000, "1.0 s after"],
  [-20, "at the reaction"],
] as const) {
  test(`${at} ms is ${words}`, () => assert.equal(timeInWords(at), words));
}
