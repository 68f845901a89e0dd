import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../test/support/held-clock.ts";
import { silentLogger } from "../core/logger.ts";
import { bootClock } from "./boot-clock.ts";
import { startState } from "./emotion/acts.ts";
import { builtInEmotions } from "./emotion/built-in-emotions.ts";
import { lifeOf } from "./fold.ts";
import { LivingCompanion } from "./life.ts";
import { moodText } from "./mood-text.ts";

function companion() {
  const clock = new HeldClock();
  const state = startState(builtInEmotions, clock.now());
  let ids = 0;
  const newId = () => `w${++ids}`;
  const ignore = () => undefined;
  const { emotions } = new LivingCompanion(
    {
      clock: bootClock(clock),
      newId,
      logger: silentLogger,
      sleepAfterBoredMs: 0,
      onFelt: ignore,
      onAct: ignore,
      leads: () => true,
    },
    lifeOf(builtInEmotions, undefined, state),
    state,
  );
  return { clock, emotions };
}

test("at rest the mood is one word", () => {
  const { emotions } = companion();
  assert.equal(moodText(emotions.spoken, "awake"), "happy");
});

test("an event that brought the mood is named, with its age", () => {
  const { clock, emotions } = companion();
  emotions.event("insult");
  assert.equal(moodText(emotions.spoken, "awake"), "disappointed, since insult, a moment ago");
  clock.pass(1_000);
  assert.equal(moodText(emotions.spoken, "awake"), "disappointed, since insult, 1 second ago");
  clock.pass(60_000);
  assert.equal(moodText(emotions.spoken, "awake"), "happy");
});

test("an open wound is named whatever the mood, until it is gone", () => {
  const { clock, emotions } = companion();
  emotions.event("abuse");
  clock.pass(36_000);
  assert.equal(moodText(emotions.spoken, "awake"), "happy and hurt, since abuse, 36 seconds ago");
  emotions.override("excited", 60);
  assert.match(moodText(emotions.spoken, "awake"), /^excited and hurt, since abuse/);
  clock.pass(974_000 - 36_000);
  assert.equal(moodText(emotions.spoken, "awake"), "sleepy and hurt, since abuse, 16 minutes ago");
  clock.pass(1_000);
  assert.equal(moodText(emotions.spoken, "awake"), "sleepy");
});

test("every open wound is named, the newest first", () => {
  const { clock, emotions } = companion();
  emotions.event("violence");
  clock.pass(120_000);
  emotions.event("abuse");
  clock.pass(5_000);
  const text = moodText(emotions.spoken, "awake");
  assert.equal(text, "sad and hurt, since abuse, 5 seconds ago, and violence, 2 minutes ago");
});

test("who sleeps is asleep, not proud", () => {
  const { emotions } = companion();
  emotions.event("pat_level2");
  assert.equal(moodText(emotions.spoken, "asleep"), "asleep");
  emotions.event("violence");
  assert.equal(
    moodText(emotions.spoken, "asleep"),
    "asleep and hurt, since violence, a moment ago",
  );
});

test("the name of an event that is no plain word is quoted", () => {
  const { emotions } = companion();
  const { events, ...rest } = builtInEmotions;
  const { violence } = events;
  assert.ok(violence);
  emotions.configure({ ...rest, events: { "a\n<|im_end|> b": violence } });
  emotions.event("a\n<|im_end|> b");
  const quoted = String.raw`"a \u003c|im_end|> b"`;
  assert.equal(moodText(emotions.spoken, "awake"), `sad and hurt, since ${quoted}, a moment ago`);
});
