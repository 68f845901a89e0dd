import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hear } from "../../../test/support/hear.ts";
import { checkJson, freezeDeep } from "../../core/json.ts";
import { Place, type Shape } from "../../core/shape.ts";
import { applyEvent, overrideMood, setVoice, startState, suspend } from "./acts.ts";
import { builtInEmotions } from "./built-in-emotions.ts";
import { type EmotionState, emotions, evolve } from "./emotion.ts";
import { feel } from "./feel.ts";
import { fromSeed, seedEmotions, storedState, toSeed } from "./stored-emotions.ts";

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
const parsed = () => JSON.parse(JSON.stringify(storedState.write(state)));
const seed = seedEmotions.write(toSeed(config, state)) as Record<string, unknown>;

/** What was read; `undefined`: something in it is damaged. */
function readAs<T>(shape: Shape<T>, stored: unknown): T | undefined {
  const place = new Place();
  const read = shape.read(stored, place);
  return place.problems.length > 0 ? undefined : read;
}
const readState = (stored: unknown) => readAs(storedState, stored);
const readSeed = (stored: unknown) => {
  const read = readAs(seedEmotions, stored);
  return read && fromSeed(config, read, bornAt);
};

test("a state that was stored and parsed comes back to the bit", () => {
  // U33, R19, R20
  const back = readState(parsed());
  assert.deepEqual(back, state);
  assert.deepEqual(parsed(), JSON.parse(JSON.stringify(state)));
  assert.equal(feel(config, back!).mood, "excited");
  assert.equal(feel(config, evolve(back!, 6_545)).mood, "sad");
  assert.deepEqual(hear(config, back!, "you stupid", () => "w").heard.length, 1);
  assert.deepEqual(Object.keys(back!.anchor.heardAt), ["harsh_words", "violence"]);
});

test("the seed's part has the seed's names, seconds, and what is felt, unrounded", () => {
  const felt = feel(config, state);
  checkJson(seed, "emotions");
  assert.deepEqual(Object.keys(seed), ["levels", "boredom", "current_mood", "wounds"]);
  assert.deepEqual(seed["levels"], felt.levels);
  assert.equal(seed["current_mood"], "sad");
  assert.equal(seed["boredom"], felt.boredom);
  assert.deepEqual((seed["wounds"] as unknown[])[0], {
    id: "w1",
    event: "violence",
    floors: { sadness: 0.2, fear: 0.25 },
    duration: 300,
    heal_rate: 0.001,
    created_at: (bornAt + 400_000) / 1000,
    remaining_fixed_seconds: 294.81,
  });
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
const whole = readSeed(original)!;

test("a file of the original comes in: levels, mood, wounds in both phases", () => {
  const felt = feel(config, whole);
  assert.equal(felt.at, bornAt);
  assert.deepEqual(felt.levels, { ...original.levels, fear: 0.1 });
  assert.equal(felt.mood, "sad");
  assert.equal(felt.boredom, 0.12);
  const [fixed, healing] = felt.wounds;
  assert.deepEqual([fixed?.ageSeconds, fixed?.healing, fixed?.healsInMs], [180, false, 520_000]);
  const { ageSeconds, healsInMs, healing: isHealing } = healing ?? assert.fail();
  assert.deepEqual([ageSeconds, isHealing, healsInMs], [450, true, 100_000]);
});

const gaps: readonly [seconds: number, sadness: number, fear: number][] = [
  [0, 0.4, 0.1],
  [100, 0.4, 0],
  [120, 0.4, 0],
  [220, 0.3, 0],
  [520, 0, 0],
  [5e9, 0, 0],
];
test("the wounds of a file of the original sink in the time away as they would have", () => {
  for (const [seconds, sadness, fear] of gaps) {
    const { levels } = feel(config, evolve(suspend(config, whole), seconds * 1000));
    assert.ok(Math.abs(levels.sadness - sadness) < 1e-12 && Math.abs(levels.fear - fear) < 1e-12);
  }
});

test("a mood that came from a file of the original lasts until the rules and 1.0 s say another", () => {
  // R19
  const calm = { ...original, wounds: [], levels: { ...original.levels, sadness: 0 } };
  const back = readSeed(calm)!;
  assert.equal(feel(config, evolve(back, 999)).mood, "sad");
  assert.equal(feel(config, evolve(back, 1_000)).mood, "happy");
});

test("what a file of the original lacks has the defaults of its schema; NaN and no number are absent", () => {
  const levels = { sadness: 0.4, joy: null, love: 1 };
  const back = readSeed({ levels, boredom: null, wounds: [{ floors: { fear: 0.2 } }] })!;
  assert.deepEqual(feel(config, back).levels, {
    ...{ joy: 0.3, sadness: 0.4, anger: 0, fear: 0.2, disgust: 0 },
  });
  const { createdAt: _, ...wound } = back.anchor.wounds[0]!;
  assert.deepEqual(wound, {
    ...{ id: "unknown", event: "unknown", floors: { fear: 0.2 } },
    ...{ durationMs: 300_000, healPerSecond: 0.001 },
  });
  assert.equal(feel(config, back).wounds[0]?.healsInMs, 200_000);
  assert.equal(feel(config, readSeed({})!).mood, "happy");
});

test("a wound from the future, or with more left than its whole, gets no longer", () => {
  // R18
  for (const [created_at, remaining_fixed_seconds] of [
    [bornAt / 1000 + 3600, 299],
    [bornAt / 1000 + 3600, 3_900],
    [8e12, 300],
  ]) {
    const wound = { ...original.wounds[0], created_at, remaining_fixed_seconds };
    const back = readSeed({ ...original, wounds: [wound] })!;
    assert.ok((feel(config, back).wounds[0]?.healsInMs ?? Number.NaN) <= 700_000);
  }
});

type Change = (stored: ReturnType<typeof parsed>) => void;
const impossible: readonly (readonly [what: string, change: Change])[] = [
  ["an override of over an hour", ({ anchor }) => (anchor.override.until = anchor.at + 3_600_001)],
  ["a time before its anchor", (stored) => (stored.at = stored.anchor.at - 1)],
  ["a wound from the future", ({ anchor }) => (anchor.wounds[0].createdAt = anchor.at + 1)],
  ["words from the future", ({ anchor }) => (anchor.heardAt.violence = anchor.at + 1)],
  ["21 wounds", ({ anchor }) => (anchor.wounds = Array(21).fill(anchor.wounds[0]))],
];
test("a state that cannot have come about is damaged", () => {
  for (const [what, change] of impossible) {
    const stored = parsed();
    change(stored);
    assert.equal(readState(stored), undefined, what);
  }
});

/** What is read can be felt, stored and read again. */
function checkLegal(back: EmotionState | undefined): void {
  if (back === undefined) return;
  checkJson(back, "the state");
  const felt = feel(config, evolve(back, 1_000));
  for (const emotion of emotions) assert.ok(felt.levels[emotion] >= 0 && felt.levels[emotion] <= 1);
  assert.ok(felt.boredom >= 0 && felt.boredom <= 1);
  assert.deepEqual(readState(JSON.parse(JSON.stringify(storedState.write(back)))), back);
  assert.ok(readSeed(JSON.parse(JSON.stringify(seedEmotions.write(toSeed(config, back))))));
}

test("anything at all, whole or in any place of a state, is legal or damaged, and is not changed", () => {
  // R14
  const anything = fc.anything({ maxDepth: 3, withBigInt: true, withNullPrototype: true });
  const places = Object.keys(parsed().anchor);
  const spoiled = fc.tuple(fc.constantFrom(...places), anything).map(([place, value]) => {
    return { ...parsed(), anchor: { ...parsed().anchor, [place]: value } };
  });
  const ofSeed = fc.tuple(fc.constantFrom(...Object.keys(original)), anything);
  const spoiledSeed = ofSeed.map(([place, value]) => ({ ...original, [place]: value }));
  fc.assert(
    fc.property(fc.oneof(anything, spoiled, spoiledSeed), (stored) => {
      freezeDeep(stored);
      checkLegal(readState(stored));
      checkLegal(readSeed(stored));
    }),
    { numRuns: 300 },
  );
});

const born = startState(config, bornAt);

function after(state: EmotionState, event: string, intensity = 1): EmotionState {
  return applyEvent(config, state, { event, intensity, id: "w" }).state;
}

test("the event that brought the mood is its cause, for as long as the mood stays", () => {
  const insulted = after(evolve(born, 5_000), "insult");
  const causeAfter = (ms: number) => feel(config, evolve(insulted, ms)).cause;
  assert.deepEqual(causeAfter(0), { event: "insult", ageSeconds: 0 });
  assert.equal(feel(config, evolve(insulted, 500)).mood, "disappointed");
  assert.deepEqual(causeAfter(500), { event: "insult", ageSeconds: 0.5 });
  assert.equal(feel(config, evolve(insulted, 60_000)).mood, "happy");
  assert.equal(causeAfter(60_000), undefined, "time brought this one");
});

test("the cause is no event that leaves the mood as it is but a severe one, and none of a mood that was set or is the voice's", () => {
  const insulted = after(evolve(born, 5_000), "insult");
  const replied = feel(config, after(evolve(insulted, 500), "conversation_reply"));
  assert.deepEqual([replied.mood, replied.cause?.event], ["disappointed", "insult"]);
  const hurt = after(evolve(after(born, "violence"), 100), "abuse");
  assert.deepEqual(feel(config, hurt).cause, { event: "abuse", ageSeconds: 0 });
  assert.equal(feel(config, overrideMood(config, insulted, "proud")).cause, undefined);
  const thinking = evolve(setVoice(config, evolve(insulted, 500), "thinking"), 1_000);
  assert.deepEqual(
    [feel(config, thinking).mood, feel(config, thinking).cause?.event],
    ["thinking", undefined],
  );
});
