import assert from "node:assert/strict";
import { test } from "node:test";
import type { Wound } from "../../api/openapi-types.ts";
import { type Feeling, moodReason, moodSentence, moodTitle } from "./words.ts";

const rest: Feeling = {
  wounds: [],
  mood: "happy",
  mood_cause: null,
  sleep_state: "awake",
};

function wound(event: string, age: number): Wound {
  return {
    id: event,
    event,
    floors: { fear: 0.3 },
    duration: 600,
    age,
    healing: false,
    heals_in: 9,
  };
}

const said = (emotions: Feeling, elapsed = 0) => [
  moodTitle(emotions),
  moodReason(emotions, elapsed),
  moodSentence(emotions),
];

test("at rest the mood needs no reason", () => {
  assert.deepEqual(said(rest), ["Happy", "", "At ease, and glad of company."]);
});

test("an open wound is named and explained, and nothing is at ease", () => {
  const hurt = { ...rest, wounds: [wound("abuse", 34)], mood_cause: { event: "abuse", age: 34 } };
  assert.deepEqual(said(hurt, 2), [
    "Happy and hurt",
    "since abuse, 36 s ago",
    "Something still hurts.",
  ]);
});

test("every open wound is a reason, the newest first", () => {
  const hurt = { ...rest, mood: "sad", wounds: [wound("violence", 130), wound("abuse", 36)] };
  assert.equal(moodTitle(hurt), "Sad and hurt");
  assert.equal(moodReason(hurt, 0), "since abuse, 36 s ago, and violence, 2 min 10 s ago");
});

test("the event that brought a mood is its reason", () => {
  const proud = { ...rest, mood: "proud", mood_cause: { event: "pat_level2", age: 3.2 } };
  assert.deepEqual(said(proud), [
    "Proud",
    "since long pat, 3 s ago",
    "Pleased with how things go.",
  ]);
});

test("asleep is told in place of the mood, and still hurt", () => {
  const proud = { ...rest, mood: "proud", mood_cause: { event: "pat_level2", age: 3 } };
  const asleep: Feeling = { ...proud, sleep_state: "asleep" };
  assert.deepEqual(said(asleep), ["Asleep", "", "It wakes when someone interacts with it."]);
  const hurt = { ...asleep, wounds: [wound("abuse", 36)] };
  assert.deepEqual(said(hurt).slice(0, 2), ["Asleep and hurt", "since abuse, 36 s ago"]);
});
