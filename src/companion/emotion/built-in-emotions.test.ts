import assert from "node:assert/strict";
import { test } from "node:test";
import { applyEvent, startState } from "./acts.ts";
import { builtInEmotions as config } from "./built-in-emotions.ts";
import { evolve, voiceStates } from "./emotion.ts";
import { feel } from "./feel.ts";
import { matchingRule } from "./mood-rules.ts";

test("each built-in mood rule is the first that matches after at most two events and some time", () => {
  const missing = new Set(config.moodRules);
  const waits = [0, 60_000, 360_000, 600_000];
  const events = Object.keys(config.events);
  const lists = [
    [],
    ...events.map((a) => [a]),
    ...events.flatMap((a) => events.map((b) => [a, b])),
  ];
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
