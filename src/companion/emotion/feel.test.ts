import assert from "node:assert/strict";
import { test } from "node:test";
import {
  anchored,
  anchorHere,
  applyEvent,
  overrideMood,
  personActs,
  resetLevels,
  resume,
  setVoice,
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
  assert.ok(
    actual !== undefined && Math.abs(actual - expected) <= 1e-12,
    `${actual} ~ ${expected}`,
  );
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
  const file = {
    ...builtInEmotionsFile,
    [section]: { ...builtInEmotionsFile[section], ...values },
  };
  const read = readEmotionConfiguration(file);
  assert.ok("configuration" in read);
  return read.configuration;
}

// BEHAVIOUR 6.5: each event on a companion whose levels all stand at 0.5.
const deltas: readonly [event: string, ...levels: number[]][] = [
  ["pat_level1", 0.55, 0.5, 0.5, 0.5, 0.5],
  ["pat_level2", 0.8, 0.3, 0.5, 0.35, 0.5],
  ["conversation_reply", 0.6, 0.45, 0.5, 0.5, 0.5],
  ["face_recognized", 0.7, 0.4, 0.5, 0.45, 0.5],
  ["voice_speaking", 0.58, 0.5, 0.5, 0.5, 0.5],
  ["voice_listening", 0.55, 0.5, 0.5, 0.5, 0.5],
  ["vision_description", 0.62, 0.5, 0.5, 0.5, 0.5],
  ["snap_detected", 0.45, 0.5, 0.5, 0.7, 0.5],
  ["loud_noise", 0.4, 0.5, 0.5, 0.75, 0.5],
  ["person_lost", 0.45, 0.65, 0.5, 0.5, 0.5],
  ["harsh_words", 0.35, 0.7, 0.65, 0.5, 0.5],
  ["insult", 0.3, 0.5, 0.75, 0.5, 0.65],
  ["violence", 0.2, 0.8, 0.75, 0.9, 0.5],
  ["abuse", 0.1, 0.9, 0.7, 1, 0.8],
  ["sustained_yelling", 0.3, 0.65, 0.7, 0.8, 0.5],
];
const half = { joy: 0.5, sadness: 0.5, anger: 0.5, fear: 0.5, disgust: 0.5 };
for (const [event, ...levels] of deltas) {
  test(`${event} takes levels of 0.5 to ${levels.join(", ")}`, () => {
    const felt = feel(config, after(bornWith({ levels: half }), event));
    emotions.forEach((emotion, index) => {
      near(felt.levels[emotion], levels[index]!);
    });
  });
}

test("the built-in configuration has these fifteen events and no other", () => {
  assert.deepEqual(
    Object.keys(config.events).toSorted(),
    deltas.map(([event]) => event).toSorted(),
  );
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
for (const [event, by] of reductions) {
  test(`${event} takes ${by} off every floor of every wound`, () => {
    const wounds = feel(config, after(born, "violence", "sustained_yelling", event)).wounds;
    near(wounds[0]?.floors.fear, 0.25 - by);
    near(wounds[0]?.floors.sadness, 0.2 - by);
    near(wounds[1]?.floors.fear, 0.2 - by);
    near(wounds[1]?.floors.anger, 0.15 - by);
  });
}

test("three long pats heal a wound with floors of 0.2 and 0.15, and a fourth finds none", () => {
  const hurt = after(born, "sustained_yelling", "pat_level2", "pat_level2");
  near(feel(config, hurt).wounds[0]?.floors.fear, 0.04);
  assert.equal(feel(config, hurt).wounds[0]?.floors.anger, 0);
  assert.deepEqual(feel(config, after(hurt, "pat_level2")).wounds, []);
});

// BEHAVIOUR 6.5, 6.6: the live column, and when each wound is gone.
const healing: readonly [
  event: string,
  seconds: number,
  floors: Partial<Record<string, number>>,
][] = [
  ["violence", 100, { fear: 0.25, sadness: 0.2 }],
  ["violence", 300, { fear: 0.25, sadness: 0.2 }],
  ["violence", 400, { fear: 0.15, sadness: 0.1 }],
  ["violence", 549.999, { fear: 0.000001, sadness: 0 }],
  ["abuse", 600, { fear: 0.3, sadness: 0.25, disgust: 0.2 }],
  ["abuse", 725, { fear: 0.2, sadness: 0.15, disgust: 0.1 }],
  ["abuse", 974.999, { fear: 0.0000008, sadness: 0, disgust: 0 }],
  ["sustained_yelling", 180, { fear: 0.2, anger: 0.15 }],
  ["sustained_yelling", 230, { fear: 0.1, anger: 0.05 }],
];
for (const [event, seconds, floors] of healing) {
  test(`${seconds} s after ${event} its floors are ${JSON.stringify(floors)}`, () => {
    const felt = feel(config, evolve(after(born, event), seconds * 1000));
    const [wound] = felt.wounds;
    assert.deepEqual(Object.keys(wound?.floors ?? {}).toSorted(), Object.keys(floors).toSorted());
    for (const emotion of emotions) {
      near(wound?.floors[emotion] ?? 0, floors[emotion] ?? 0);
      assert.ok(felt.levels[emotion] >= (wound?.floors[emotion] ?? 0), "no level below its floor");
    }
    assert.equal(wound?.ageSeconds, seconds);
    assert.equal(wound?.event, event);
  });
}

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

test("a floor that falls faster than its level decays lets go of it, in one step or many", () => {
  const fast = changed("events", {
    cut: {
      severity: "severe",
      deltas: { sadness: 0.5 },
      wound: { floors: { sadness: 0.5 }, duration: 10, heal_rate: 1 },
    },
  });
  const hurt = applyEvent(fast, startState(fast, 0), { event: "cut", id: "w" }).state;
  near(feel(fast, evolve(hurt, 10_000)).levels.sadness, 0.5);
  near(feel(fast, evolve(hurt, 15_000)).levels.sadness, 0.35);
  assert.deepEqual(feel(fast, evolve(hurt, 15_000)).wounds, []);
  let often = hurt;
  for (let step = 0; step < 150; step++) often = setVoice(fast, evolve(often, 100), "idle");
  near(feel(fast, often).levels.sadness, 0.35);
});

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

test("intensity scales deltas and wound reduction, not floors", () => {
  const hurt = applyEvent(config, born, { event: "violence", intensity: 0.5, id: "w" }).state;
  near(feel(config, hurt).levels.anger, 0.125);
  assert.deepEqual(feel(config, hurt).wounds[0]?.floors, { sadness: 0.2, fear: 0.25 });
  near(feel(config, hurt).levels.fear, 0.25);
  const better = applyEvent(config, hurt, { event: "pat_level2", intensity: 2, id: "w" }).state;
  near(feel(config, better).wounds[0]?.floors.fear, 0.09);
});

test("levels stay within 0 and 1 at intensity 10, and intensity 0 moves none", () => {
  for (const event of Object.keys(config.events)) {
    for (const intensity of [0, 10]) {
      const state = applyEvent(config, born, { event, intensity, id: "w" }).state;
      const { levels } = feel(config, state);
      for (const level of Object.values(levels)) assert.ok(level >= 0 && level <= 1);
      if (intensity === 0 && config.events[event]?.wound === undefined) {
        assert.deepEqual(levels, feel(config, born).levels);
      }
    }
  }
});

for (const level of [0, 0.05, 0.3, 0.5, 0.999, 1]) {
  test(`from ${level} every emotion comes to exactly its baseline, and no further`, () => {
    // R16
    const levels = { joy: level, sadness: level, anger: level, fear: level, disgust: level };
    const state = bornWith({ levels });
    for (const ms of [60_000, 3_600_000, 3e11, Number.MAX_SAFE_INTEGER, 1e300]) {
      assert.deepEqual(feel(config, evolve(state, ms)).levels, {
        joy: 0.3,
        sadness: 0,
        anger: 0,
        fear: 0,
        disgust: 0,
      });
    }
  });
}

test("joy rises from 0 to 0.20 in 10 s, and boredom of 0.5 is gone after 30 s", () => {
  const state = bornWith({ levels: { ...half, joy: 0, fear: 0.9 }, boredom: 0.5 });
  near(feel(config, evolve(state, 10_000)).levels.joy, 0.2);
  near(feel(config, evolve(state, 5_000)).boredom, 0.25);
  assert.equal(feel(config, evolve(state, 30_000)).boredom, 0);
});

for (const [seconds, boredom] of [
  [299, 0],
  [300, 0],
  [350, 0.4],
  [387.5, 0.7],
  [425, 1],
  [3600, 1],
  [1e8, 1],
] as const) {
  test(`after ${seconds} s of neglect at rest boredom is ${boredom}`, () => {
    near(feel(config, evolve(born, seconds * 1000)).boredom, boredom);
  });
}

test("boredom grows by .008 a second from joy below .15 until joy is back, unless one is upset", () => {
  const joyless = bornWith({ levels: { ...born.anchor.levels, joy: 0 } });
  near(feel(config, evolve(joyless, 5_000)).boredom, 0.04);
  near(feel(config, evolve(joyless, 7_500)).boredom, 0.06);
  near(feel(config, evolve(joyless, 8_000)).boredom, 0.035);
  const upset = bornWith({ levels: { ...born.anchor.levels, joy: 0, disgust: 0.22 } });
  near(feel(config, evolve(upset, 2_000)).boredom, 0);
  near(feel(config, evolve(upset, 3_000)).boredom, 0.008);
});

test("without neglect_after boredom does not grow at rest, as in the original", () => {
  const patient = changed("boredom", { neglect_after: null });
  assert.equal(feel(patient, evolve(startState(patient, 0), 1e9)).boredom, 0);
});

test("an event, a person and the start of a run each restart the neglect", () => {
  for (const act of [
    (state: EmotionState) => after(state, "pat_level1"),
    (state: EmotionState) => personActs(config, state),
    (state: EmotionState) => resume(config, suspend(config, state)),
  ]) {
    const state = act(evolve(born, 200_000));
    assert.equal(feel(config, evolve(state, 299_000)).boredom, 0);
    near(feel(config, evolve(state, 350_000)).boredom, 0.4);
  }
});

test("while no run is up boredom falls from 1 to 0 in 20 s, and does not grow", () => {
  const down = suspend(config, evolve(born, 3_600_000));
  assert.equal(feel(config, down).boredom, 1);
  near(feel(config, evolve(down, 10_000)).boredom, 0.5);
  assert.equal(feel(config, evolve(down, 20_000)).boredom, 0);
  assert.equal(feel(config, evolve(down, 86_400_000)).boredom, 0);
  assert.equal(feel(config, resume(config, evolve(down, 86_400_000))).boredom, 0);
});

for (const [seconds, isOver] of [
  [60, false],
  [60.001, true],
] as const) {
  test(`a person after ${seconds} s of silence ${isOver ? "ends" : "does not end"} boredom`, () => {
    const bored = bornWith({ boredom: 1, stimulusAt: bornAt - 1e6 });
    const met = personActs(config, evolve(bored, seconds * 1000));
    assert.equal(feel(config, met).boredom === 0, isOver);
  });
}

test("an hour of neglect leads to sleep", () => {
  // R17
  assert.equal(feel(config, evolve(born, 3_600_000)).mood, "sleepy");
});

// R18
for (const ms of [
  -1,
  -600_000,
  Number.NEGATIVE_INFINITY,
  Number.POSITIVE_INFINITY,
  Number.NaN,
  0.9,
]) {
  test(`${ms} ms is no time at all`, () => {
    const hurt = evolve(after(born, "violence"), 5);
    assert.equal(evolve(hurt, ms), hurt);
  });
}

test("time stands still at the last instant there is", () => {
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

test("a reset takes levels to their baseline; wounds, boredom and override stay", () => {
  const state = overrideMood(
    config,
    after(bornWith({ boredom: 0.9 }), "violence", "insult"),
    "proud",
  );
  const felt = feel(config, resetLevels(config, state));
  assert.deepEqual(felt.levels, { joy: 0.3, sadness: 0.2, anger: 0, fear: 0.25, disgust: 0 });
  assert.equal(felt.wounds.length, 1);
  assert.equal(felt.boredom, 0.9);
  assert.equal(felt.mood, "proud");
});

test("another configuration changes what follows, not what is felt", () => {
  const slow = changed("emotions", { joy: { baseline: 0.9, decay_rate: 0.001 } });
  const state = evolve(after(born, "violence", "abuse", "violence"), 1_000);
  const changedState = anchorHere(config, state);
  assert.deepEqual(feel(slow, changedState).levels, feel(config, state).levels);
  near(feel(slow, evolve(changedState, 1e9)).levels.joy, 0.9);
});

for (const most of [0, 1, 2]) {
  test(`three wounds stay when at most ${most} are allowed, and a further one is not left`, () => {
    const strict = changed("settings", { max_wounds: most });
    const before = evolve(after(born, "violence", "abuse", "violence"), 1_000);
    const state = anchorHere(config, before);
    assert.deepEqual(feel(strict, state).wounds, feel(config, before).wounds);
    assert.equal(feel(strict, state).wounds.length, 3);
    const { state: hurt, wound } = applyEvent(strict, state, { event: "abuse", id: "one more" });
    assert.equal(wound, "limit");
    assert.equal(feel(strict, hurt).wounds.length, 3);
  });
}

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
for (const [mood, [joy = 0, sadness = 0, anger = 0, fear = 0, disgust = 0], more] of rows) {
  const says = `joy ${joy}, sadness ${sadness}, anger ${anger}, fear ${fear}, disgust ${disgust}`;
  test(`${says} and ${JSON.stringify(more)} make ${mood}`, () => {
    const state = bornWith({ levels: { joy, sadness, anger, fear, disgust }, ...more });
    assert.equal(feel(config, state).mood, mood);
  });
}

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

test("a word that is taken back within the same second leaves the mood as it was", () => {
  const listening = setVoice(config, born, "listening");
  assert.equal(feel(config, listening).mood, "curious");
  const idle = setVoice(config, evolve(listening, 300), "idle");
  assert.equal(feel(config, idle).mood, "curious");
  assert.equal(feel(config, evolve(idle, 700)).mood, "happy");
});

test("an override shows for 10 s, that instant included, and the derived mood goes on below", () => {
  const state = overrideMood(config, after(born, "pat_level2"), "sad");
  for (const [ms, mood, derivedMood] of [
    [0, "sad", "proud"],
    [6_000, "sad", "happy"],
    [10_000, "sad", "happy"],
    [10_001, "happy", "happy"],
  ] as const) {
    const felt = feel(config, evolve(state, ms));
    assert.deepEqual([felt.mood, felt.derivedMood], [mood, derivedMood]);
    assert.equal(felt.override?.until, mood === "sad" ? bornAt + 10_000 : undefined);
  }
});

const wrong: readonly [says: string, act: () => unknown, message: RegExp][] = [
  ["an unknown event", () => after(born, "hug"), /pat_level1, .*sustained_yelling/],
  ["the event __proto__", () => after(born, "__proto__"), /pat_level1/],
  [
    "intensity -0.1",
    () => applyEvent(config, born, { event: "insult", intensity: -0.1, id: "w" }),
    /0 to 10/,
  ],
  [
    "intensity 10.1",
    () => applyEvent(config, born, { event: "insult", intensity: 10.1, id: "w" }),
    /0 to 10/,
  ],
  [
    "intensity NaN",
    () => applyEvent(config, born, { event: "insult", intensity: Number.NaN, id: "w" }),
    /0 to 10/,
  ],
  ["an unknown mood", () => overrideMood(config, born, "grumpy"), /happy, excited, .*calm/],
  ["0 s of a mood", () => overrideMood(config, born, "sad", 0), /at most 3600/],
  ["3600.001 s of a mood", () => overrideMood(config, born, "sad", 3600.001), /at most 3600/],
  ["NaN s of a mood", () => overrideMood(config, born, "sad", Number.NaN), /at most 3600/],
  ["an unknown voice state", () => setVoice(config, born, "singing" as "idle"), /idle, listening/],
];
for (const [says, act, message] of wrong) {
  test(`${says} is refused with what would be right`, () => {
    assert.throws(act, { code: "THROUGHLINE_INVALID", message });
  });
}

test("an hour of a mood is accepted", () => {
  const state = overrideMood(config, born, "excited", 3600);
  assert.equal(feel(config, evolve(state, 3_600_000)).mood, "excited");
});

// C13
const ways: Readonly<Record<Mood, () => EmotionState>> = {
  happy: () => born,
  excited: () => after(evolve(after(born, "pat_level2"), 1_000), "pat_level2"),
  curious: () => setVoice(config, born, "listening"),
  thinking: () => setVoice(config, born, "thinking"),
  sad: () => after(born, "violence"),
  disappointed: () => after(born, "insult"),
  surprised: () => after(born, "snap_detected", "loud_noise"),
  sleepy: () => evolve(born, 400_000),
  proud: () => after(born, "pat_level2"),
  calm: () => evolve(born, 360_000),
};
for (const [mood, lead] of Object.entries(ways)) {
  test(`${mood} is reached from neglect, a voice or events`, () => {
    assert.equal(feel(config, lead()).mood, mood);
  });
}

test("ten years of neglect with five wounds are felt within milliseconds", () => {
  const hurt = after(born, "violence", "abuse", "sustained_yelling", "violence", "abuse");
  const started = performance.now();
  for (let index = 0; index < 20; index++) {
    const woken = resume(config, evolve(suspend(config, evolve(hurt, index)), 3.2e11));
    assert.equal(feel(config, woken).mood, "happy");
  }
  assert.ok(performance.now() - started < 1_000, "20 times within a second");
});
