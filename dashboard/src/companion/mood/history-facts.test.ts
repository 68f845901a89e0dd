import assert from "node:assert/strict";
import { test } from "node:test";
import type { MoodHistory } from "../../api/openapi-types.ts";
import { fullTime } from "../../ui/in-words.ts";
import {
  chartStart,
  hasCourse,
  longestRange,
  marksOf,
  ranges,
  summaryOf,
  tickLabel,
  woundSpans,
} from "./history-facts.ts";

/** A history of an hour, with its moods at moments that are as far apart as the last is from its end. */
function historyOf(
  mood: readonly (string | null)[],
  wounds: MoodHistory["wounds"] = [],
): MoodHistory {
  const [from, to] = [0, 3_600_000];
  const known = mood.map((each) => (each === null ? null : 0.1));
  const levels = { joy: known, sadness: known, anger: known, fear: known, disgust: known };
  const first = mood.findIndex((each) => each !== null);
  const at = mood.map((_, index) => (index * to) / (mood.length - 1));
  const runs = first < 0 ? [] : [{ from: at[first] ?? 0, to: null }];
  return { from, to, at, levels, boredom: known, mood, events: [], wounds, runs };
}

const [hour, day, week, month] = ranges;

interface Told {
  readonly mood: readonly (string | null)[];
  readonly events?: number;
  readonly wounds?: number;
  readonly runs?: MoodHistory["runs"];
}

const minute = 60_000;

for (const [told, says] of [
  [{ mood: [null, null, null, null] }, "Nothing is recorded for the last hour."],
  [
    { mood: ["happy", "happy", "happy", "happy"] },
    "Happy over the last hour. No events and no wounds.",
  ],
  [
    { mood: ["curious", "happy", "happy", "happy"], events: 2 },
    "Mostly happy over the last hour, with a curious spell. Two events and no wounds.",
  ],
  [
    { mood: ["excited", "happy", "happy", "happy"], events: 1, wounds: 1 },
    "Mostly happy over the last hour, with an excited spell. One event and one wound.",
  ],
  [
    { mood: ["sad", "happy", "curious", "sad"], events: 12, wounds: 2 },
    "Sad, happy and curious by turns over the last hour. 12 events and two wounds.",
  ],
  [
    { mood: ["sad", "happy", "sad", "happy", "happy", "happy", "curious", "happy"] },
    "Mostly happy over the last hour, with sad spells and a curious spell. No events and no wounds.",
  ],
  [
    {
      mood: ["happy", null, null, "happy"],
      runs: [
        { from: 0, to: 30_000 },
        { from: 59.5 * minute, to: null },
      ],
    },
    "Happy over the last hour. No events and no wounds. Throughline was not running for 59 minutes.",
  ],
  [
    { mood: [null, null, "happy", "happy"], runs: [{ from: 40 * minute, to: null }] },
    `Happy over the last hour. No events and no wounds. Throughline was not running before ${fullTime(40 * minute)}.`,
  ],
  [
    {
      mood: [null, "happy", null, "happy"],
      runs: [
        { from: 20 * minute, to: 30 * minute },
        { from: 50 * minute, to: null },
      ],
    },
    `Happy over the last hour. No events and no wounds. Throughline was not running for 20 minutes. It was not running before ${fullTime(20 * minute)}.`,
  ],
  [
    { mood: [null, null, null, "happy"], runs: [{ from: 60 * minute - 1, to: null }] },
    `Happy now. No events and no wounds. Throughline was not running before ${fullTime(60 * minute - 1)}.`,
  ],
] as const satisfies readonly (readonly [Told, string])[]) {
  test(`the history ${JSON.stringify(told)} is told as "${says}"`, () => {
    const { mood, events = 0, wounds = 0, runs }: Told = told;
    const history = historyOf(mood);
    const wound = { id: "w", event: "abuse", from: 0, to: null };
    const event = { at: 0, event: "insult", intensity: 1, wound: null };
    const lived = {
      ...history,
      events: Array.from({ length: events }, () => event),
      wounds: Array.from({ length: wounds }, () => wound),
      runs: runs ?? history.runs,
    };
    assert.equal(summaryOf(lived, hour), says);
  });
}

for (const [ms, says] of [
  [1_000, "1 second"],
  [90_000, "1 minute and 30 seconds"],
  [7_500_000, "2 hours and 5 minutes"],
  [86_400_000, "1 day"],
  [200_000_000, "2 days and 7 hours"],
] as const) {
  test(`${ms} ms without a run are ${says}`, () => {
    const to = ms + 20;
    const runs = [
      { from: 0, to: 10 },
      { from: ms + 10, to: null },
    ];
    const history = { ...historyOf(["happy", "happy"]), to, at: [0, to], runs };
    assert.match(summaryOf(history, month), new RegExp(`for ${says}\\.$`));
  });
}

for (const [runs, isDrawn] of [
  [[], false],
  [[{ from: 3_599_000, to: null }], false],
  [[{ from: 3_580_000, to: null }], true],
  [[{ from: 0, to: 1 }], true],
] as const) {
  test(`with the runs ${JSON.stringify(runs)} a chart is ${isDrawn ? "" : "not "}drawn`, () => {
    assert.equal(hasCourse({ ...historyOf(["happy", "happy"]), runs }), isDrawn);
  });
}

const now = 100 * day.ms;
for (const [ago, range] of [
  [undefined, hour],
  [0, hour],
  [hour.ms, hour],
  [hour.ms + 1, day],
  [day.ms, day],
  [day.ms + 1, week],
  [week.ms + 1, month],
  [month.ms, month],
  [month.ms + 1, month],
] as const) {
  test(`a history that began ${ago} ms ago opens on ${range.name}`, () => {
    assert.equal(longestRange(ago === undefined ? undefined : now - ago, now), range);
  });
}

for (const [range, ago, shownMs] of [
  [hour, undefined, hour.ms],
  [hour, 10 * minute, 10.2 * minute + 1_000],
  [hour, 31 * minute, hour.ms],
  [day, 2 * hour.ms, 2.04 * hour.ms + 1_000],
  [day, 20 * hour.ms, day.ms],
  [day, 40 * hour.ms, day.ms],
] as const) {
  test(`over ${range.name}, with a first run ${ago} ms ago, the chart shows ${shownMs} ms`, () => {
    const since = ago === undefined ? undefined : now - ago;
    assert.equal(now - chartStart(range, since, now), shownMs);
  });
}

test("a mood that is known at the newest moment alone is listed without a length", () => {
  const says = marksOf(historyOf([null, null, null, "happy"])).map((mark) => mark.says);
  assert.deepEqual(says, ["Happy", "Not running for 1 h"]);
});

for (const [minutes, stepMs, label] of [
  [9 * 60 + 5, 300_000, "09:05"],
  [19 * 60 + 15, 3_600_000, "19:15"],
  [19 * 60 + 15.5, 10_000, "19:15:30"],
  [24 * 60, 3_600_000, "27 Nov"],
  [9 * 60 + 5, 86_400_000, "26 Nov"],
] as const) {
  test(`the time axis is labelled ${label}, as times are written everywhere`, () => {
    const at = new Date(2026, 10, 26).getTime() + minutes * 60_000;
    assert.equal(tickLabel(at, stepMs), label);
  });
}

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
