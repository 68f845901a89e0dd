import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { columns } from "../../../test/support/columns.ts";
import { applyEvent, startState } from "./acts.ts";
import {
  builtInEmotions,
  builtInEmotionsFile,
  builtInEmotions as config,
} from "./built-in-emotions.ts";
import { readEmotionConfiguration } from "./configuration.ts";
import { evolve, voiceStates } from "./emotion.ts";
import { feel, matchingRule } from "./feel.ts";

function read(file: unknown) {
  const found = readEmotionConfiguration(file);
  assert.ok("configuration" in found, JSON.stringify(found));
  return found.configuration;
}

function problemsOf(file: unknown) {
  const found = readEmotionConfiguration(file);
  assert.ok("problems" in found);
  return found.problems;
}

// BEHAVIOUR 6.5
test("the built-in emotions rest and decay as the original's do", () => {
  assert.deepEqual(columns(Object.values(config.emotions), "baseline", "decayPerSecond"), [
    [0.3, 0.02],
    ...[0.03, 0.05, 0.04, 0.06].map((decay) => [0, decay]),
  ]);
});

test("a file that leaves everything out has the schema's defaults, and no built-in event", () => {
  const config = read({
    emotions: { joy: {} },
    events: { cut: { severity: "severe", wound: {} } },
  });
  assert.deepEqual(config.emotions.joy, { baseline: 0, decayPerSecond: 0.03 });
  assert.deepEqual(config.emotions.fear, { baseline: 0, decayPerSecond: 0.03 });
  assert.deepEqual(config.events, {
    cut: {
      severity: "severe",
      deltas: {},
      woundReduction: 0,
      wound: { floors: {}, durationMs: 300_000, healPerSecond: 0.001 },
    },
  });
  assert.deepEqual([config.moodRules, config.triggers], [[], []]);
  assert.deepEqual(config.boredom, builtInEmotions.boredom);
  assert.deepEqual(config.settings, builtInEmotions.settings);
  assert.deepEqual(Object.values(config.boredom), [0.008, 0.05, 0.15, 0.1, 300_000]);
  assert.deepEqual(Object.values(config.settings), [1_000, 5_000, 5, 0.05]);
  assert.equal(feel(config, startState(config, 0)).mood, "calm", "without rules");
});

test("a configuration is frozen, and what it was read from is not changed", () => {
  const file = structuredClone(builtInEmotionsFile);
  const config = read(file);
  assert.deepEqual(file, builtInEmotionsFile);
  assert.deepEqual(config, builtInEmotions);
  assert.ok(Object.isFrozen(config.moodRules[0]?.conditions));
});

const comparisons: readonly [wanted: unknown, comparator: string, value: number][] = [
  [">= 0.7", ">=", 0.7],
  ["<= 0.7", "<=", 0.7],
  ["> .7", ">", 0.7],
  ["<0.2", "<", 0.2],
  ["  ==  1  ", "==", 1],
  ["0.25", ">=", 0.25],
  [0.25, ">=", 0.25],
  [0, ">=", 0],
];
const rule = (conditions: unknown) => ({ derived_mood_rules: [{ mood: "sad", conditions }] });
test("a condition compares in five ways; a rule without any always matches", () => {
  for (const [wanted, comparator, value] of comparisons) {
    const { moodRules } = read(rule({ joy: wanted, _boredom: wanted }));
    const compared = { kind: "compare", comparator, value };
    assert.deepEqual(moodRules[0]?.conditions, [
      { ...compared, what: "joy" },
      { ...compared, what: "boredom" },
    ]);
  }
  for (const none of [undefined, {}, null]) {
    assert.deepEqual(read(rule(none)).moodRules[0]?.conditions, []);
  }
});
const severe = (wound: unknown) => ({ events: { e: { severity: "severe", wound } } });
const many = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`e${index}`, value]));
const pattern = (...patterns: unknown[]) => ({
  events: { e: {} },
  transcript_triggers: [{ event: "e", patterns }],
});

const faults: readonly [file: unknown, path: readonly (string | number)[], says: RegExp][] = [
  [null, [], /empty/],
  [{ event: {} }, ["event"], /emotions, events/],
  [{ emotions: { love: {} } }, ["emotions", "love"], /joy, sadness/],
  [{ emotions: { joy: { baseline: 1.1 } } }, ["emotions", "joy", "baseline"], /from 0 to 1/],
  [{ events: { e: { deltas: { joy: 11 } } } }, ["events", "e", "deltas", "joy"], /-10 to 10/],
  [{ events: { e: { wound: {} } } }, ["events", "e", "wound"], /severe/],
  [{ events: { "": {} } }, ["events", ""], /name/],
  [{ events: many(201, {}) }, ["events"], /200/],
  [severe({ floors: { joy: -0.1 } }), ["events", "e", "wound", "floors", "joy"], /from 0 to 1/],
  [{ derived_mood_rules: Array(101).fill({ mood: "sad" }) }, ["derived_mood_rules"], /100/],
  [{ derived_mood_rules: [{ mood: "grumpy" }] }, ["derived_mood_rules", 0, "mood"], /happy/],
  [rule({ love: 1 }), ["derived_mood_rules", 0, "conditions", "love"], /_dominant/],
  [rule({ joy: ">= much" }), ["derived_mood_rules", 0, "conditions", "joy"], /comparison/],
  [rule({ joy: -1 }), ["derived_mood_rules", 0, "conditions", "joy"], /comparison/],
  [rule({ _boredom: null }), ["derived_mood_rules", 0, "conditions", "_boredom"], /comparison/],
  [rule({ _voice_state: "x" }), ["derived_mood_rules", 0, "conditions", "_voice_state"], /idle/],
  [rule(many(17, 1)), ["derived_mood_rules", 0, "conditions"], /16/],
  [{ settings: { max_wounds: 21 } }, ["settings", "max_wounds"], /to 20/],
  [
    { transcript_triggers: [{ event: "e" }] },
    ["transcript_triggers", 0, "event"],
    /^must be one of the events, and there are none$/,
  ],
  [
    { events: { e: {} }, transcript_triggers: [{ event: ["e"] }] },
    ["transcript_triggers", 0, "event"],
    /^must be one of e$/,
  ],
  [pattern(1), ["transcript_triggers", 0, "patterns", 0], /text/],
  [pattern("ok", "!!"), ["transcript_triggers", 0, "patterns", 1], /words/],
  [pattern("a b c d e f g h i"), ["transcript_triggers", 0, "patterns", 0], /8 words/],
  [pattern(...Array(1_001).fill("a")), ["transcript_triggers", 0, "patterns"], /1000/],
];
test("a file that cannot be used is refused at its place; all faults are told at once, at most 50", () => {
  for (const [file, path, says] of faults) {
    const [problem] = problemsOf(file).filter((found) => found.path.join() === path.join());
    assert.match(problem?.says ?? "nothing", says, JSON.stringify(file).slice(0, 60));
  }
  assert.equal(problemsOf({ emotions: { joy: { baseline: 2 }, fear: { baseline: 2 } } }).length, 2);
  assert.equal(problemsOf(many(10_000, 1)).length, 50);
});

test("any JSON is read or refused, and what is read can be felt", () => {
  const key = fc.constantFrom(
    ...["emotions", "events", "derived_mood_rules", "boredom", "transcript_triggers", "settings"],
    ...["joy", "baseline", "deltas", "wound", "floors", "mood", "conditions", "patterns", "event"],
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "medium" },
      fc.constantFrom(0, 1, -1, 0.5, 1e300, Number.NaN, "", "x", "severe", ">= 1", true, null),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(key, tie("value"), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(value, (file) => {
      const found = readEmotionConfiguration(file);
      if ("problems" in found) assert.ok(found.problems.length > 0);
      else feel(found.configuration, startState(found.configuration, 0));
    }),
  );
});

test("each built-in mood rule is the first that matches after at most two events and some time", () => {
  const missing = new Set(config.moodRules);
  const waits = [0, 60_000, 360_000, 600_000];
  const events = Object.keys(config.events);
  const lists = [[], ...events.flatMap((a) => [[a], ...events.map((b) => [a, b])])];
  for (const list of lists) {
    const rest = startState(config, 0);
    const hurt = list.reduce((state, event) => {
      return applyEvent(config, state, { event, id: event }).state;
    }, rest);
    for (const wait of waits) {
      for (const voiceState of voiceStates) {
        const { levels, boredom, wounds } = feel(config, evolve(hurt, wait));
        const senses = { levels, boredom, hasWounds: wounds.length > 0, voiceState };
        const rule = matchingRule(config.moodRules, senses);
        if (rule !== undefined) missing.delete(rule);
      }
    }
  }
  assert.deepEqual([...missing], []);
});
