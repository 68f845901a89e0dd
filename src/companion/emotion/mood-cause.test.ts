import assert from "node:assert/strict";
import { test } from "node:test";
import { applyEvent, overrideMood, setVoice, startState } from "./acts.ts";
import { builtInEmotions as config } from "./built-in-emotions.ts";
import type { EmotionState } from "./emotion.ts";
import { evolve } from "./emotion.ts";
import { feel } from "./feel.ts";

const bornAt = 1_700_000_000_000;
const born = startState(config, bornAt);

function after(state: EmotionState, event: string, intensity = 1): EmotionState {
  return applyEvent(config, state, { event, intensity, id: "w" }).state;
}

for (const event of ["violence", "abuse", "sustained_yelling"]) {
  test(`${event} changes the mood at once, however short the mood before lasted`, () => {
    const proud = after(born, "pat_level2");
    assert.equal(feel(config, proud).mood, "proud");
    const hurt = after(evolve(proud, 1), event);
    assert.notEqual(feel(config, hurt).mood, "proud");
  });
}

test("an insult waits until the mood before has lasted a second", () => {
  const proud = after(born, "pat_level2");
  const insulted = after(evolve(proud, 1), "insult", 2);
  assert.equal(feel(config, insulted).mood, "proud");
  assert.equal(feel(config, evolve(insulted, 999)).mood, "disappointed");
});

test("the event that brought the mood is its cause, for as long as the mood stays", () => {
  const insulted = after(evolve(born, 5_000), "insult");
  const causeAfter = (ms: number) => feel(config, evolve(insulted, ms)).cause;
  assert.deepEqual(causeAfter(0), { event: "insult", ageSeconds: 0 });
  assert.equal(feel(config, evolve(insulted, 500)).mood, "disappointed");
  assert.deepEqual(causeAfter(500), { event: "insult", ageSeconds: 0.5 });
  assert.equal(feel(config, evolve(insulted, 60_000)).mood, "happy");
  assert.equal(causeAfter(60_000), undefined, "time brought this one");
});

test("an event that leaves the mood as it is does not become its cause", () => {
  const insulted = after(evolve(born, 5_000), "insult");
  const replied = after(evolve(insulted, 500), "conversation_reply");
  assert.equal(feel(config, replied).mood, "disappointed");
  assert.equal(feel(config, replied).cause?.event, "insult");
});

test("a severe event is the cause of a mood that it leaves as it is", () => {
  const hurt = after(evolve(after(born, "violence"), 100), "abuse");
  assert.deepEqual(feel(config, hurt).cause, { event: "abuse", ageSeconds: 0 });
});

test("a mood that was set, or comes from the voice, has no event as its cause", () => {
  const insulted = after(evolve(born, 5_000), "insult");
  assert.equal(feel(config, overrideMood(config, insulted, "proud")).cause, undefined);
  const thinking = evolve(setVoice(config, evolve(insulted, 500), "thinking"), 1_000);
  assert.equal(feel(config, thinking).mood, "thinking");
  assert.equal(feel(config, thinking).cause, undefined);
});
