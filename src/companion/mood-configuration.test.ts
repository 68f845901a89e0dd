import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInEmotions } from "./emotion/built-in-emotions.ts";
import type { Comparison, EmotionConfiguration } from "./emotion/configuration.ts";
import { readEmotionConfiguration } from "./emotion/read-configuration.ts";
import { configurationRecord, readConfigurationRecord } from "./mood-configuration.ts";

function configurationOf(file: object): EmotionConfiguration {
  const read = readEmotionConfiguration(file);
  if (!("configuration" in read)) assert.fail(JSON.stringify(read.problems));
  return read.configuration;
}

const everyCondition = {
  joy: ">= 0.7",
  anger: 0.25,
  fear: "== .5",
  _boredom: "< 1000",
  _voice_state: "thinking",
  _has_wounds: false,
  _dominant: "fear",
};
const ones: readonly (readonly [what: string, config: EmotionConfiguration])[] = [
  ["that is built in", builtInEmotions],
  ["of nothing", configurationOf({})],
  [
    "with every condition there is",
    configurationOf({
      derived_mood_rules: [{ mood: "sad", conditions: everyCondition }, { mood: "calm" }],
      emotions: { joy: { baseline: 0.95, decay_rate: 1e-9 } },
      boredom: { neglect_after: null },
      settings: { hysteresis: 0.001 },
    }),
  ],
];
for (const [what, config] of ones) {
  test(`a configuration ${what} is read as what it was`, () => {
    const record = configurationRecord(config);
    const read = readConfigurationRecord(JSON.parse(JSON.stringify(record)));
    const { events: _, triggers: __, settings, ...runs } = config;
    const { events, triggers, settings: readSettings, ...readRuns } = read!;
    assert.deepEqual(readRuns, runs);
    assert.equal(readSettings.hysteresisMs, settings.hysteresisMs);
    assert.deepEqual([events, triggers], [{}, []]);
    assert.ok(Object.isFrozen(read));
  });
}

test("what changes no course changes no id, and what does changes it", () => {
  const { settings, boredom } = builtInEmotions;
  const idOf = (change: Partial<EmotionConfiguration>) =>
    configurationRecord({ ...builtInEmotions, ...change })?.id;
  const id = idOf({});
  assert.match(id!, /^c_[0-9a-f]{32}$/);
  assert.equal(idOf({ events: {}, triggers: [], settings: { ...settings, maxWounds: 1 } }), id);
  for (const change of [
    { boredom: { ...boredom, joyBelow: 0.2 } },
    { settings: { ...settings, hysteresisMs: 2_000 } },
    { moodRules: [] },
  ]) {
    assert.notEqual(idOf(change), id);
  }
});

test("a configuration that no file can say has no record", () => {
  const joy = { kind: "compare", what: "joy" } as const;
  const twice: readonly Comparison[] = [
    { ...joy, comparator: ">", value: 0.2 },
    { ...joy, comparator: "<", value: 0.5 },
  ];
  const moodRules = [{ mood: "calm", conditions: twice }] as const;
  assert.equal(configurationRecord({ ...builtInEmotions, moodRules }), undefined);
  const tiny = [{ mood: "calm", conditions: [{ ...twice[0]!, value: 1e-7 }] }] as const;
  assert.equal(configurationRecord({ ...builtInEmotions, moodRules: tiny }), undefined);
});
