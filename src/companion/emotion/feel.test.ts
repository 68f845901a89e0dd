import assert from "node:assert/strict";
import { test } from "node:test";
import { column } from "../../../test/support/columns.ts";
import {
  anchored,
  anchorHere,
  applyEvent,
  overrideMood,
  personActs,
  resetLevels,
  startState,
  suspend,
} from "./acts.ts";
import { builtInEmotions, builtInEmotionsFile } from "./built-in-emotions.ts";
import { type EmotionConfiguration, readEmotionConfiguration } from "./configuration.ts";
import {
  type Anchor,
  type EmotionState,
  emotions,
  evolve,
  lastInstant,
  type Mood,
} from "./emotion.ts";
import { feel } from "./feel.ts";

const config = builtInEmotions;
const bornAt = 1_700_000_000_000;
const born = startState(config, bornAt);

function near(actual: number | undefined, expected: number): void {
  const away = Math.abs((actual ?? Number.NaN) - expected);
  assert.ok(away <= 1e-12, `${actual} ~ ${expected}`);
}

function after(state: EmotionState, ...events: readonly string[]): EmotionState {
  return events.reduce(
    (before, event, index) => applyEvent(config, before, { event, id: `w${index}` }).state,
    state,
  );
}

/** The companion at birth, with some things set otherwise. */
function bornWith(change: Partial<Anchor>): EmotionState {
  return anchored({ ...born.anchor, ...change });
}

function changed(section: keyof typeof builtInEmotionsFile, values: object): EmotionConfiguration {
  const own = { ...builtInEmotionsFile[section], ...values };
  const read = readEmotionConfiguration({ ...builtInEmotionsFile, [section]: own });
  assert.ok("configuration" in read);
  return read.configuration;
}

// BEHAVIOUR 6.5: each event on a companion whose levels all stand at 0.5.
const deltas: readonly [event: string, severity: string, ...levels: number[]][] = [
  ["pat_level1", "mild", 0.55, 0.5, 0.5, 0.5, 0.5],
  ["pat_level2", "healing", 0.8, 0.3, 0.5, 0.35, 0.5],
  ["conversation_reply", "healing", 0.6, 0.45, 0.5, 0.5, 0.5],
  ["face_recognized", "healing", 0.7, 0.4, 0.5, 0.45, 0.5],
  ["voice_speaking", "healing", 0.58, 0.5, 0.5, 0.5, 0.5],
  ["voice_listening", "healing", 0.55, 0.5, 0.5, 0.5, 0.5],
  ["vision_description", "healing", 0.62, 0.5, 0.5, 0.5, 0.5],
  ["snap_detected", "mild", 0.45, 0.5, 0.5, 0.7, 0.5],
  ["loud_noise", "mild", 0.4, 0.5, 0.5, 0.75, 0.5],
  ["person_lost", "moderate", 0.45, 0.65, 0.5, 0.5, 0.5],
  ["harsh_words", "moderate", 0.35, 0.7, 0.65, 0.5, 0.5],
  ["insult", "moderate", 0.3, 0.5, 0.75, 0.5, 0.65],
  ["violence", "severe", 0.2, 0.8, 0.75, 0.9, 0.5],
  ["abuse", "severe", 0.1, 0.9, 0.7, 1, 0.8],
  ["sustained_yelling", "severe", 0.3, 0.65, 0.7, 0.8, 0.5],
];
const half = { joy: 0.5, sadness: 0.5, anger: 0.5, fear: 0.5, disgust: 0.5 };
test("there are the original's fifteen events, each as grave, and moving the levels as far", () => {
  assert.deepEqual(Object.keys(config.events).toSorted(), column(deltas, 0).toSorted());
  for (const [event, severity, ...levels] of deltas) {
    assert.equal(config.events[event]?.severity, severity, event);
    const felt = feel(config, after(bornWith({ levels: half }), event));
    emotions.forEach((emotion, index) => {
      near(felt.levels[emotion], levels[index]!);
    });
  }
});

const reductions: readonly [event: string, by: number][] = [
  ["pat_level1", 0],
  ["pat_level2", 0.08],
  ["conversation_reply", 0.01],
  ["face_recognized", 0.02],
  ["voice_speaking", 0],
  ["voice_listening", 0],
  ["vision_description", 0.01],
];
test("what heals takes as much off every floor of every wound as in the original", () => {
  for (const [event, by] of reductions) {
    const wounds = feel(config, after(born, "violence", "sustained_yelling", event)).wounds;
    near(wounds[0]?.floors.fear, 0.25 - by);
    near(wounds[0]?.floors.sadness, 0.2 - by);
    near(wounds[1]?.floors.fear, 0.2 - by);
    near(wounds[1]?.floors.anger, 0.15 - by);
  }
});

// BEHAVIOUR 6.5, 6.6: when each wound is gone.
for (const [event, fixed, gone] of [
  ["violence", 300, 550],
  ["abuse", 600, 975],
  ["sustained_yelling", 180, 280],
] as const) {
  test(`${event} heals from ${fixed} s on and is gone at ${gone} s, to the millisecond`, () => {
    const hurt = after(born, event);
    const woundAt = (ms: number) => feel(config, evolve(hurt, ms)).wounds[0];
    assert.equal(woundAt(fixed * 1000 - 1)?.healing, false);
    assert.equal(woundAt(fixed * 1000)?.healing, true);
    assert.equal(woundAt(0)?.healsInMs, gone * 1000);
    assert.equal(woundAt(gone * 1000 - 1)?.healsInMs, 1);
    assert.equal(woundAt(gone * 1000), undefined);
  });
}

test("a sixth wound is refused and said so, its deltas apply", () => {
  // R20
  let state = born;
  for (let count = 1; count <= 5; count++) {
    const outcome = applyEvent(config, state, { event: "violence", id: `w${count}` });
    assert.equal(outcome.wound, "added");
    state = evolve(outcome.state, 1_000);
  }
  const sixth = applyEvent(config, state, { event: "abuse", id: "w6" });
  assert.equal(sixth.wound, "limit");
  assert.equal(feel(config, sixth.state).wounds.length, 5);
  near(feel(config, sixth.state).levels.disgust, 0.3);
  assert.equal(applyEvent(config, state, { event: "insult", id: "w6" }).wound, undefined);
});

test("a person after more than 60 s of silence ends boredom", () => {
  const bored = bornWith({ boredom: 1, stimulusAt: bornAt - 1e6 });
  const metAfter = (ms: number) => feel(config, personActs(config, evolve(bored, ms))).boredom;
  assert.ok(metAfter(60_000) > 0);
  assert.equal(metAfter(60_001), 0);
});

// R18

test("what is negative, not finite or a part of a millisecond is no time at all; time stands still at the last instant", () => {
  const hurt = evolve(after(born, "violence"), 5);
  const { POSITIVE_INFINITY: most } = Number;
  for (const ms of [-1, -600_000, -most, most, Number.NaN, 0.9])
    assert.equal(evolve(hurt, ms), hurt);
  const end = evolve(after(born, "abuse"), 1e300);
  assert.equal(end.at, lastInstant);
  assert.deepEqual(evolve(end, 1_000), end);
  assert.equal(feel(config, after(end, "insult")).mood, "disappointed");
});

test("a state is plain, frozen JSON, and no act changes the state it was given", () => {
  const state = evolve(after(born, "abuse", "pat_level2"), 77_777);
  const before = JSON.stringify(state);
  after(state, "violence");
  overrideMood(config, state, "calm");
  resetLevels(config, suspend(config, personActs(config, state)));
  assert.equal(JSON.stringify(state), before);
  assert.deepEqual(JSON.parse(before), state);
  assert.throws(() => {
    (state.anchor.levels as { joy: number }).joy = 1;
  }, TypeError);
});

// BEHAVIOUR 6.7, each row at a new companion whose hysteresis is over.
const rows: readonly [mood: Mood, levels: readonly number[], more: Partial<Anchor>][] = [
  ["thinking", [1, 1, 1, 1, 1], { voiceState: "thinking" }],
  ["curious", [1, 1, 1, 1, 1], { voiceState: "listening" }],
  ["excited", [0.7, 0, 0, 0, 0], { voiceState: "speaking" }],
  ["excited", [0.7, 0.7, 0.7, 0.7, 0.7], {}],
  ["proud", [0.699, 0, 0, 0, 0], {}],
  ["surprised", [0, 0, 0.199, 0.4, 0], {}],
  ["calm", [0, 0, 0.2, 0.4, 0], {}],
  ["calm", [0, 0, 0.1, 0.399, 0], {}],
  ["sad", [0.2, 0.25, 0.25, 0.25, 0.25], {}],
  ["happy", [0.25, 0.25, 0, 0, 0], {}],
  ["calm", [0, 0.249, 0, 0, 0], {}],
  ["calm", [0, 0.26, 0, 0.27, 0], {}],
  ["disappointed", [0.1, 0.1, 0.2, 0.2, 0.2], {}],
  ["calm", [0.1, 0.1, 0.199, 0, 0], {}],
  ["calm", [0.1, 0, 0.2, 0, 0.21], {}],
  ["sleepy", [0.3, 0, 0, 0, 0], { boredom: 0.7 }],
  ["calm", [0.3, 0, 0, 0, 0], { boredom: 0.699 }],
  ["calm", [0.3, 0, 0, 0, 0], { boredom: 0.4 }],
  ["happy", [0.3, 0, 0, 0, 0], { boredom: 0.399 }],
  ["proud", [0.5, 0.099, 0.099, 0.399, 0], {}],
  ["surprised", [0.5, 0.099, 0.099, 0.4, 0], {}],
  ["happy", [0.5, 0.1, 0, 0, 0], {}],
  ["happy", [0.5, 0, 0.1, 0, 0], {}],
  ["happy", [0.499, 0, 0, 0, 0], {}],
  ["happy", [0.25, 0, 0, 0, 0], {}],
  ["calm", [0.249, 0, 0, 0, 0], {}],
];
test("the levels, boredom and the voice make the mood that they made in the original", () => {
  for (const [mood, [joy = 0, sadness = 0, anger = 0, fear = 0, disgust = 0], more] of rows) {
    const levels = { joy, sadness, anger, fear, disgust };
    const felt = feel(config, bornWith({ levels, ...more }));
    assert.equal(felt.mood, mood, JSON.stringify(levels));
  }
});

test("with a wound sadness of .3 makes sad and anger of .2 disappointed, whatever else is felt", () => {
  const { wounds } = after(born, "sustained_yelling").anchor;
  const moodOf = (levels: Partial<Record<(typeof emotions)[number], number>>) =>
    feel(config, bornWith({ wounds, levels: { ...born.anchor.levels, joy: 1, ...levels } })).mood;
  assert.equal(moodOf({ sadness: 0.3, anger: 0.2 }), "sad");
  assert.equal(moodOf({ sadness: 0.299, anger: 0.2 }), "disappointed");
  assert.equal(moodOf({ sadness: 0.299, anger: 0.199 }), "excited");
});

test("a mood lasts 1.0 s, and changes at the first millisecond after that", () => {
  const proud = after(born, "pat_level2");
  assert.equal(feel(config, proud).mood, "proud");
  const hurt = after(evolve(proud, 100), "insult", "insult");
  assert.equal(feel(config, evolve(hurt, 899)).mood, "proud");
  assert.equal(feel(config, evolve(hurt, 900)).mood, "disappointed");
  // That one lasts as long, whatever happens.
  const better = after(evolve(hurt, 1_000), "pat_level2");
  assert.equal(feel(config, evolve(better, 899)).mood, "disappointed");
  assert.notEqual(feel(config, evolve(better, 900)).mood, "disappointed");
});

const noHysteresis = changed("settings", { hysteresis: 0 });
for (const ms of [0, 5_001]) {
  test(`without hysteresis a mood that began at ${ms} ms is held by one that comes at that instant`, () => {
    const began = anchorHere(noHysteresis, evolve(after(born, "pat_level2"), ms));
    const state = anchorHere(noHysteresis, began);
    const { mood } = feel(config, state);
    assert.equal(mood, ms === 0 ? "proud" : "happy");
    const other = ms === 0 ? after(state, "insult", "insult") : after(state, "pat_level2");
    assert.equal(feel(config, evolve(other, 999)).mood, mood);
    assert.notEqual(feel(config, evolve(other, 1_000)).mood, mood);
  });
}

test("joy of .6 is proud for 5000 ms, then happy for good, a second later at the latest", () => {
  const state = after(born, "pat_level2");
  assert.equal(feel(config, evolve(state, 5_000)).mood, "proud");
  assert.equal(feel(config, evolve(state, 6_000)).mood, "happy");
  assert.equal(feel(config, evolve(suspend(config, state), 3.2e11)).mood, "happy");
});
