import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { applyEvent, startState, suspend } from "./emotion/acts.ts";
import { builtInEmotions as config } from "./emotion/built-in-emotions.ts";
import { type EmotionState, emotions, evolve } from "./emotion/emotion.ts";
import { feel } from "./emotion/feel.ts";
import { moodCourse } from "./mood-course.ts";
import type { MoodRecord } from "./mood-history.ts";

const noon = Date.UTC(2026, 2, 1, 12);
const born = startState(config, noon);

/** A record so many seconds after noon. */
function record(
  seconds: number,
  kind: MoodRecord["kind"],
  more: Partial<MoodRecord> = {},
): MoodRecord {
  const ms = seconds * 1_000;
  return { at: noon + ms, kind, state: evolve(born, ms), events: [], ...more };
}

/** The course from noon, a point a second. */
function course(records: readonly MoodRecord[], seconds: number) {
  const span = { from: noon, to: noon + seconds * 1_000, points: seconds + 1 };
  return moodCourse(config, records, span);
}

/** Where there is a mood, as spans of seconds, both ends included. */
function shown(moods: readonly (string | null)[]): string[] {
  const spans: string[] = [];
  let start: number | undefined;
  for (const [i, mood] of [...moods, null].entries()) {
    if (mood !== null) start ??= i;
    else if (start !== undefined) {
      spans.push(`${start}-${i - 1}`);
      start = undefined;
    }
  }
  return spans;
}

test("at every instant the course is what evolve and feel say, for any history", () => {
  const events = Object.keys(config.events);
  const step = fc.tuple(fc.nat(200_000), fc.constantFrom(...events));
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 8 }),
      fc.integer({ min: 2, max: 60 }),
      (steps, points) => {
        const records: MoodRecord[] = [record(0, "up", { state: born })];
        let state: EmotionState = born;
        let at = noon;
        for (const [i, [wait, event]] of steps.entries()) {
          at += wait;
          state = applyEvent(config, evolve(state, wait), { event, id: `w${i}` }).state;
          records.push({ at, kind: "felt", state, events: [] });
        }
        const drawn = moodCourse(config, records, { from: noon, to: at + 100_000, points });
        for (const [i, instant] of drawn.at.entries()) {
          const last = records.findLast((each) => each.at <= instant);
          assert.ok(last);
          const felt = feel(config, evolve(last.state, instant - last.at));
          assert.equal(drawn.mood[i], felt.mood);
          assert.equal(drawn.boredom[i], felt.boredom);
          for (const name of emotions) assert.equal(drawn.levels[name][i], felt.levels[name]);
        }
      },
    ),
    { numRuns: 50 },
  );
});

test("between a clean end and the next boot nothing is drawn", () => {
  const { mood, runs } = course([record(0, "up"), record(3, "down"), record(7, "up")], 10);
  assert.deepEqual(shown(mood), ["0-3", "7-10"]);
  assert.deepEqual(runs, [
    { from: noon, to: noon + 3_000 },
    { from: noon + 7_000, to: null },
  ]);
});

for (const [says, downAt, wanted] of [
  ["4 s after the boot", 4, ["0-4", "7-10"]],
  ["before its own boot", -60, ["0-0", "7-10"]],
  ["after the next boot", 60, ["0-10"]],
  ["at no known time", undefined, ["0-10"]],
] as const) {
  test(`a run that was killed and last lived ${says} is drawn as ${wanted.join(", ")}`, () => {
    const left = downAt === undefined ? {} : { downAt: noon + downAt * 1_000 };
    const { mood } = course([record(0, "up"), record(7, "up", left)], 10);
    assert.deepEqual(shown(mood), wanted);
  });
}

test("a history whose beginning is not in it is of a run that was up", () => {
  const { mood, runs } = course([record(-50, "felt"), record(3, "down")], 10);
  assert.deepEqual(shown(mood), ["0-3"]);
  assert.deepEqual(runs, [{ from: noon - 50_000, to: noon + 3_000 }]);
});

const hurt = applyEvent(config, born, { event: "violence", id: "w" }).state;

test("a wound is drawn from when it was made to when it will be gone", () => {
  const { wounds } = course([record(0, "up", { state: hurt })], 10);
  const wanted = { id: "w", event: "violence", from: noon, to: noon + 550_000 };
  assert.deepEqual(wounds, [wanted]);
});

test("a wound of another day is not drawn", () => {
  const records = [record(-86_400, "up", { state: hurt })];
  assert.deepEqual(course(records, 10).wounds, []);
});

test("a wound that was healed by what happened ends there, not when it would have", () => {
  let state = evolve(hurt, 5_000);
  for (let pat = 0; pat < 4; pat++) {
    state = applyEvent(config, state, { event: "pat_level2", id: "x" }).state;
  }
  assert.deepEqual(feel(config, state).wounds, []);
  const records = [record(0, "up", { state: hurt }), record(5, "felt", { state })];
  assert.deepEqual(
    course(records, 10).wounds.map(({ to }) => to),
    [noon + 5_000],
  );
});

test("a wound that something softened ends earlier, and one that heals while no run is up ends then", () => {
  const soft = applyEvent(config, evolve(hurt, 5_000), { event: "pat_level2", id: "x" }).state;
  const down = suspend(config, evolve(soft, 1_000));
  const records = [
    record(0, "up", { state: hurt }),
    record(5, "felt", { state: soft }),
    record(6, "down", { state: down }),
  ];
  // The deeper floor of .25 is .17 now: it lasts 170 s past the 300 that it is fixed.
  assert.deepEqual(course(records, 10).wounds[0]?.to, noon + 470_000);
});

test("of a record that ends after the span its events in the span are returned, and nothing is drawn", () => {
  const event = (seconds: number) => ({
    at: noon + seconds * 1_000,
    event: "loud_noise",
    intensity: 1,
  });
  const late = record(1.5, "felt", { events: [event(1), event(1.5)] });
  const { events, runs, mood } = course([late], 1);
  assert.deepEqual(events, [event(1)]);
  assert.deepEqual([runs, shown(mood)], [[], []]);
});
