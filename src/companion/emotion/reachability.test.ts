import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInEmotions, builtInEmotionsFile } from "./built-in-emotions.ts";
import { unreachableRules } from "./reachability.ts";
import { readEmotionConfiguration } from "./read-configuration.ts";

function warningsOf(change: object): readonly string[] {
  const read = readEmotionConfiguration({ ...builtInEmotionsFile, ...change });
  assert.ok("configuration" in read);
  return unreachableRules(read.configuration);
}

test("every built-in rule can be reached", () => {
  assert.deepEqual(unreachableRules(builtInEmotions), []);
});

const rules = builtInEmotionsFile.derived_mood_rules;
const never: readonly [says: string, rules: readonly object[], named: readonly RegExp[]][] = [
  ["joy above 1", [{ mood: "proud", conditions: { joy: "> 1" } }, ...rules], [/rule 1 \(proud\)/]],
  ["a rule behind one that always matches", [...rules, { mood: "sad" }], [/rule 14 \(sad\)/]],
  [
    "two emotions highest at once",
    [{ mood: "sad", conditions: { _dominant: "joy", joy: "< 0.1", fear: "> 0.2" } }],
    [/rule 1 \(sad\)/],
  ],
];
for (const [says, derived_mood_rules, named] of never) {
  test(`a rule that can never match is warned of: ${says}`, () => {
    // R17
    const warnings = warningsOf({ derived_mood_rules });
    assert.equal(warnings.length, named.length);
    named.forEach((pattern, index) => {
      assert.match(warnings[index] ?? "", pattern);
    });
  });
}

test("without neglect the sleepy rule is never reached, as in the original", () => {
  const boredom = { ...builtInEmotionsFile.boredom, neglect_after: null };
  assert.match(warningsOf({ boredom }).join(), /rule 9 \(sleepy\)/);
});

test("a rule for every voice state, wound and dominant emotion is reached", () => {
  const derived_mood_rules = [
    ...["sadness", "anger", "fear"].map((emotion) => ({
      mood: "sad",
      conditions: { _dominant: emotion, _has_wounds: false },
    })),
    { mood: "sad", conditions: { _dominant: "fear", _has_wounds: true } },
    { mood: "sad", conditions: { _dominant: "disgust" } },
    { mood: "calm", conditions: { _has_wounds: true } },
    ...["idle", "listening", "thinking", "speaking"].map((state) => ({
      mood: "calm",
      conditions: { _voice_state: state },
    })),
  ];
  assert.deepEqual(warningsOf({ derived_mood_rules }), []);
});

test("a configuration of 200 events and 100 rules is looked through in a time that its square would not take", () => {
  const events = Object.fromEntries(
    Array.from({ length: 200 }, (_, index) => [
      `e${index}`,
      { severity: "severe", deltas: { joy: index / 1000 }, wound: { floors: { fear: 0.1 } } },
    ]),
  );
  const derived_mood_rules = Array.from({ length: 100 }, () => ({
    mood: "sad",
    conditions: { joy: "> 1" },
  }));
  const started = performance.now();
  const change = { events, derived_mood_rules, transcript_triggers: [] };
  assert.equal(warningsOf(change).length, 100);
  assert.ok(performance.now() - started < 60_000);
});
