import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { checkJson } from "../../core/json.ts";
import { applyEvent, overrideMood, setVoice, startState, suspend } from "./acts.ts";
import { builtInEmotions, builtInEmotionsFile } from "./built-in-emotions.ts";
import { type EmotionState, emotions, evolve, freezeDeep } from "./emotion.ts";
import { readEmotionConfiguration } from "./emotions-schema.ts";
import { feel } from "./feel.ts";
import { restoreEmotions } from "./restore-emotions.ts";
import { storeEmotions } from "./stored-emotions.ts";
import { hear } from "./triggers.ts";

const config = builtInEmotions;
const bornAt = 1_700_000_000_000;

/** A companion with something in every field. */
function lived(): EmotionState {
  let state = startState(config, bornAt);
  state = hear(config, evolve(state, 400_000), "stupid, I will kill you", () => "w1").state;
  state = setVoice(config, evolve(state, 1_234), "speaking");
  state = applyEvent(config, evolve(state, 500), { event: "abuse", id: "w2" }).state;
  return evolve(overrideMood(config, state, "excited"), 3_456);
}

const state = lived();
const { emotions: seed, own } = storeEmotions(config, state);

test("a state that was stored and parsed comes back to the bit, and nothing was repaired", () => {
  // U33, R19, R20
  const parsed = JSON.parse(JSON.stringify({ seed, own }));
  const { state: back, repaired } = restoreEmotions(config, parsed.seed, parsed.own, 0);
  assert.deepEqual(back, state);
  assert.deepEqual(repaired, []);
  assert.deepEqual(feel(config, evolve(back, 6_544)), feel(config, evolve(state, 6_544)));
  assert.equal(feel(config, back).mood, "excited");
  assert.equal(feel(config, evolve(back, 6_545)).mood, "sad");
  assert.deepEqual(hear(config, back, "you stupid", () => "w").heard.length, 1);
  assert.deepEqual(Object.keys(back.anchor.heardAt), ["harsh_words", "violence"]);
});

test("an override that would last longer than an hour is left out and told", () => {
  const override = { mood: "sad", until: own.anchor.at + 3_600_001 };
  const part = { ...own, anchor: { ...own.anchor, override } };
  const { state: back, repaired } = restoreEmotions(config, seed, part, bornAt);
  assert.equal(feel(config, back).override, undefined);
  assert.match(repaired.join(), /override/);
});

test("both parts are plain JSON that the document store accepts", () => {
  checkJson(seed, "emotions");
  checkJson(own, "own");
});

test("the seed's part has the seed's names, seconds, and what is felt, unrounded", () => {
  const felt = feel(config, state);
  assert.deepEqual(Object.keys(seed), ["levels", "boredom", "current_mood", "wounds"]);
  assert.deepEqual(seed.levels, felt.levels);
  assert.equal(seed.current_mood, "sad");
  assert.equal(seed.boredom, felt.boredom);
  const { created_at, ...wound } = seed.wounds[0]!;
  assert.deepEqual(wound, {
    id: "w1",
    event: "violence",
    floors: { sadness: 0.2, fear: 0.25 },
    duration: 300,
    heal_rate: 0.001,
    remaining_fixed_seconds: 294.81,
  });
  assert.equal(created_at, (bornAt + 400_000) / 1000);
});

/** As the original wrote it: rounded, and floors as they had healed by then. */
const original = freezeDeep({
  levels: { joy: 0.35, sadness: 0.4, anger: 0, fear: 0, disgust: 0 },
  boredom: 0.12,
  current_mood: "sad",
  wounds: [
    {
      id: "e5f6g7h8",
      event: "harsh_criticism",
      floors: { sadness: 0.4 },
      duration: 300,
      heal_rate: 0.001,
      created_at: bornAt / 1000 - 180,
      remaining_fixed_seconds: 120,
    },
    {
      id: "a1b2c3d4",
      event: "violence",
      floors: { fear: 0.1 },
      duration: 300,
      heal_rate: 0.001,
      created_at: bornAt / 1000 - 450,
      remaining_fixed_seconds: 0,
    },
  ],
});

test("a file of the original comes in: levels, mood, wounds in both phases, nothing repaired", () => {
  const { state: back, repaired } = restoreEmotions(config, original, undefined, bornAt);
  assert.deepEqual(repaired, []);
  const felt = feel(config, back);
  assert.equal(felt.at, bornAt);
  assert.deepEqual(felt.levels, { ...original.levels, fear: 0.1 });
  assert.equal(felt.mood, "sad");
  assert.equal(felt.boredom, 0.12);
  const [fixed, healing] = felt.wounds;
  assert.deepEqual([fixed?.ageSeconds, fixed?.healing, fixed?.healsInMs], [180, false, 520_000]);
  assert.deepEqual(
    [healing?.ageSeconds, healing?.healing, healing?.healsInMs],
    [450, true, 100_000],
  );
});

const gaps: readonly [seconds: number, sadness: number, fear: number][] = [
  [0, 0.4, 0.1],
  [100, 0.4, 0],
  [120, 0.4, 0],
  [220, 0.3, 0],
  [520, 0, 0],
  [5e9, 0, 0],
];
for (const [seconds, sadness, fear] of gaps) {
  test(`the wounds of a stored state have floors ${sadness} and ${fear} after ${seconds} s`, () => {
    const { state: back } = restoreEmotions(config, original, undefined, bornAt);
    const { levels } = feel(config, evolve(suspend(config, back), seconds * 1000));
    assert.ok(Math.abs(levels.sadness - sadness) < 1e-12 && Math.abs(levels.fear - fear) < 1e-12);
  });
}

test("a mood that came from a file of the original lasts until the rules and 1.0 s say another", () => {
  // R19
  const calm = { ...original, wounds: [], levels: { ...original.levels, sadness: 0 } };
  const { state: back } = restoreEmotions(config, calm, undefined, bornAt);
  assert.equal(feel(config, evolve(back, 999)).mood, "sad");
  assert.equal(feel(config, evolve(back, 1_000)).mood, "happy");
});

test("of 20 stored wounds the 5 longest to heal come back, in both parts, and the rest is told", () => {
  // R20
  const wounds = Array.from({ length: 20 }, (_, index) => ({
    ...original.wounds[0],
    id: `w${index}`,
    floors: { fear: 0.02 * (1 + ((index * 7) % 20)) },
  }));
  const fromSeed = restoreEmotions(config, { ...original, wounds }, undefined, bornAt);
  const expected = ["w5", "w8", "w11", "w14", "w17"];
  const idsOf = (back: EmotionState) => feel(config, back).wounds.map(({ id }) => id);
  assert.deepEqual(idsOf(fromSeed.state), expected);
  assert.match(fromSeed.repaired.join(), /20 wounds, 5 are the most/);
  const many = wounds.map(({ id, floors }) => ({ ...own.anchor.wounds[0], id, floors }));
  const ownPart = { ...own, anchor: { ...own.anchor, wounds: many } };
  const fromOwn = restoreEmotions(config, undefined, ownPart, bornAt);
  assert.deepEqual(idsOf(fromOwn.state), expected);
  assert.match(fromOwn.repaired.join(), /20 wounds, 5 are the most/);
});

// R14: level "x", null, NaN, 9; wounds text; floors null; boredom text.
const wrongLevels: readonly [value: unknown, becomes: number][] = [
  ["x", 0.3],
  [null, 0.3],
  [undefined, 0.3],
  [Number.NaN, 0.3],
  [Number.POSITIVE_INFINITY, 0.3],
  [{}, 0.3],
  [9, 1],
  [1e300, 1],
  [-1, 0],
];
for (const [value, becomes] of wrongLevels) {
  test(`a stored joy of ${String(value)} becomes ${becomes}, is told, and costs nothing else`, () => {
    const levels = { ...original.levels, joy: value };
    const part = { ...original, levels };
    const { state: back, repaired } = restoreEmotions(config, part, undefined, bornAt);
    const felt = feel(config, back);
    assert.deepEqual(felt.levels, { ...original.levels, fear: 0.1, joy: becomes });
    assert.equal(felt.wounds.length, 2);
    assert.equal(repaired.length, 1);
    assert.match(repaired[0]!, /joy/);
  });
}

test("levels of unknown emotions are left out and told, missing ones start at baseline", () => {
  const part = { ...original, levels: { love: 1, sadness: 0.4 } };
  const { state: back, repaired } = restoreEmotions(config, part, undefined, bornAt);
  assert.equal(feel(config, back).levels.joy, 0.3);
  assert.match(repaired.join(), /1 levels are of no known emotion/);
  assert.match(repaired.join(), /level of joy/);
});

test("a wound whose floors are null is left out and told, the other stays", () => {
  const wounds = [{ ...original.wounds[0], floors: null }, original.wounds[1]];
  const { state: back, repaired } = restoreEmotions(
    config,
    { ...original, wounds },
    undefined,
    bornAt,
  );
  assert.deepEqual(
    feel(config, back).wounds.map(({ id }) => id),
    ["a1b2c3d4"],
  );
  assert.match(repaired.join(), /floors of a wound/);
});

test("a wound with nothing but floors heals as the schema's defaults say", () => {
  const part = { ...original, wounds: [{ floors: { fear: 0.2 } }] };
  const { state: back } = restoreEmotions(config, part, undefined, bornAt);
  const { createdAt: _, ...wound } = back.anchor.wounds[0]!;
  assert.deepEqual(wound, {
    id: "wound-1",
    event: "unknown",
    floors: { fear: 0.2 },
    durationMs: 300_000,
    healPerSecond: 0.001,
  });
  assert.equal(feel(config, back).wounds[0]?.healsInMs, 200_000);
});

test("a wound from the future, or with more left than its whole, gets no longer", () => {
  // R18
  for (const [created_at, remaining_fixed_seconds] of [
    [bornAt / 1000 + 3600, 299],
    [bornAt / 1000 + 3600, 3_900],
    [1e300, 300],
  ]) {
    const wound = { ...original.wounds[0], created_at, remaining_fixed_seconds };
    const part = { ...original, wounds: [wound] };
    const { state: back } = restoreEmotions(config, part, undefined, bornAt);
    assert.ok((feel(config, back).wounds[0]?.healsInMs ?? Number.NaN) <= 700_000);
  }
});

const wrongValues: readonly unknown[] = [
  ...["x", "", "__proto__", null, undefined, true, Number.NaN, Number.NEGATIVE_INFINITY, -1, 0.5],
  ...[9, 1e300, [], [null], {}, { joy: {} }, [[]], ["x"], 10n, Symbol("s"), () => 1],
];

/** Every place in a value, and the value with something else in that place. */
function* spoiled(
  value: unknown,
  wrong: unknown,
  place = "",
): Generator<readonly [string, unknown]> {
  yield [place || "all of it", wrong];
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      for (const [where, other] of spoiled(item, wrong, `${place}[${index}]`)) {
        yield [where, value.with(index, other)];
      }
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      for (const [where, other] of spoiled(item, wrong, `${place}.${key}`)) {
        yield [where, { ...value, [key]: other }];
      }
    }
  }
}

function checkLegal(back: EmotionState, place: string): void {
  checkJson(back, "the state");
  const felt = feel(config, evolve(back, 1_000));
  for (const emotion of emotions) {
    assert.ok(felt.levels[emotion] >= 0 && felt.levels[emotion] <= 1, place);
  }
  assert.ok(felt.boredom >= 0 && felt.boredom <= 1, place);
  assert.ok(felt.wounds.length <= 5, place);
  const again = storeEmotions(config, back);
  assert.deepEqual(restoreEmotions(config, again.emotions, again.own, 0).repaired, [], place);
}

/** The names of what is felt otherwise. */
function lost(back: EmotionState, expected: EmotionState): string[] {
  const [felt, wanted] = [feel(config, back), feel(config, expected)];
  const keys = ["levels", "boredom", "wounds", "derivedMood"] as const;
  return keys.filter((key) => JSON.stringify(felt[key]) !== JSON.stringify(wanted[key]));
}

for (const wrong of wrongValues) {
  test(`${String(wrong) || "an empty text"} in any one stored place boots, is told, and costs little`, () => {
    // R14, for every field; what is spoiled in one part is known from the other
    for (const [place, part] of spoiled(own, wrong)) {
      const { state: back, repaired } = restoreEmotions(config, seed, part, bornAt + 405_190);
      checkLegal(back, `own${place}`);
      if (JSON.stringify(back) !== JSON.stringify(state)) {
        const isLegal = repaired.length === 0;
        assert.ok(isLegal || lost(back, state).length === 0, `own${place}: ${repaired.join()}`);
      }
    }
    for (const [place, part] of spoiled(seed, wrong)) {
      const withOwn = restoreEmotions(config, part, own, bornAt);
      assert.deepEqual(withOwn, { state, repaired: [] }, `seed${place}`);
    }
    const whole = restoreEmotions(config, original, undefined, bornAt).state;
    for (const [place, part] of spoiled(original, wrong)) {
      const { state: back, repaired } = restoreEmotions(config, part, undefined, bornAt);
      checkLegal(back, `original${place}`);
      if (place === "all of it") continue;
      assert.ok(lost(back, whole).length <= 2, `original${place}: ${lost(back, whole).join()}`);
      if (JSON.stringify(back) !== JSON.stringify(whole)) continue;
      const isUnused = /created_at|heal_rate|duration|boredom|remaining/.test(place);
      assert.ok(repaired.length <= 1 || isUnused, `original${place}: ${repaired.join()}`);
    }
  });
}

test("wounds past the first thousand are told, and lists of unreadable ones are left out", () => {
  const wounds = Array(1_500).fill({ floors: { fear: 0.1, love: 1 } });
  const { repaired } = restoreEmotions(config, { ...original, wounds }, undefined, bornAt);
  assert.match(repaired.join(), /500 wounds past the first 1000 left out/);
  assert.equal(repaired.length, 50);
});

test("what cannot be used is told without quoting it", () => {
  const part = { ...original, current_mood: "secret", levels: { secret: 1, joy: "secret" } };
  const { repaired } = restoreEmotions(config, part, { at: "secret" }, bornAt);
  assert.ok(repaired.length > 5);
  assert.doesNotMatch(repaired.join(), /secret/);
});

test("any two values boot, with any instant, and are not changed", () => {
  const anything = fc.anything({ maxDepth: 4, withBigInt: true, withNullPrototype: true });
  const instant = fc.oneof(fc.double(), fc.constantFrom(bornAt, -0, -1, 1e300, Number.NaN));
  fc.assert(
    fc.property(anything, anything, instant, (seedPart, ownPart, at) => {
      freezeDeep([seedPart, ownPart]);
      checkLegal(restoreEmotions(config, seedPart, ownPart, at).state, "anything");
    }),
    { numRuns: 300 },
  );
});

test("a state restored under fewer allowed wounds is the same when it is stored again", () => {
  const read = readEmotionConfiguration({ ...builtInEmotionsFile, settings: { max_wounds: 1 } });
  assert.ok("configuration" in read);
  const once = restoreEmotions(read.configuration, seed, own, bornAt);
  assert.deepEqual(
    feel(read.configuration, once.state).wounds.map(({ id }) => id),
    ["w2"],
  );
  assert.equal(once.repaired.length > 0, true);
  const stored = storeEmotions(read.configuration, once.state);
  const twice = restoreEmotions(read.configuration, stored.emotions, stored.own, bornAt);
  assert.deepEqual(twice, { state: once.state, repaired: [] });
});
