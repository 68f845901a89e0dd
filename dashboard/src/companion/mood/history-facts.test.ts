import assert from "node:assert/strict";
import { test } from "node:test";
import type { MoodHistory } from "../../api/openapi-types.ts";
import { marksOf, summaryOf, woundSpans } from "./history-facts.ts";

/** A history of an hour with a moment each 20 minutes. */
function historyOf(
  mood: readonly (string | null)[],
  wounds: MoodHistory["wounds"] = [],
): MoodHistory {
  const [from, to] = [0, 3_600_000];
  const known = mood.map((each) => (each === null ? null : 0.1));
  const levels = { joy: known, sadness: known, anger: known, fear: known, disgust: known };
  const first = mood.findIndex((each) => each !== null);
  const runs = first < 0 ? [] : [{ from: first * 1_200_000, to: null }];
  const at = [0, 1_200_000, 2_400_000, to];
  return { from, to, at, levels, boredom: known, mood, events: [], wounds, runs };
}

for (const [mood, says] of [
  [[null, null, null, null], "No data for the last hour."],
  [[null, null, null, "happy"], "Mood in the last hour: happy. 0 events, 0 wounds"],
  [
    ["happy", "happy", "happy", "happy"],
    "Mood in the last hour: mostly happy (100\u00a0% of the known time",
  ],
  [["sad", "happy", "happy", "happy"], "mostly happy (67\u00a0% of the known time), then sad 33"],
] as const) {
  test(`the moods ${JSON.stringify(mood)} are told as "${says}"`, () => {
    assert.ok(summaryOf(historyOf(mood), "the last hour").includes(says));
  });
}

test("a mood that is known at the newest moment alone is listed without a length", () => {
  const says = marksOf(historyOf([null, null, null, "happy"])).map((mark) => mark.says);
  assert.deepEqual(says, ["Happy", "Not running for 1 h"]);
});

test("a wound that does not heal by itself lasts to the end of the history", () => {
  const wounds = [
    { id: "w1", event: "abuse", from: 600_000, to: null },
    { id: "w2", event: "insult", from: 0, to: 60_000 },
  ];
  const history = historyOf(["sad", "sad", "sad", "sad"], wounds);
  assert.deepEqual(
    woundSpans(history).map(({ to }) => to),
    [3_600_000, 60_000],
  );
  const says = marksOf(history).map((mark) => mark.says);
  assert.ok(says.includes("Wound from abuse, for 50 min"), says.join("; "));
});
