// Words for the names of the configuration, and the group of each.
import type { ServerEvents } from "../../api/openapi-types.ts";
import { spanInWords } from "../../ui/in-words.ts";

/** The emotions that a mood is described by. */
export type Feeling = Pick<
  ServerEvents["emotions"],
  "mood" | "mood_cause" | "sleep_state" | "wounds"
>;

/** A name of the configuration (`harsh_words`) as words: "harsh words". */
export function inWords(name: string): string {
  const words = (buttonWords.get(name) ?? name).replaceAll("_", " ").trim();
  return words === "" ? name : words;
}

/** The same, with a capital letter. */
export function asTitle(name: string): string {
  const words = inWords(name);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export type EventGroup = "kindness" | "harm" | "other";

/** The built-in events by what they do; a configuration may name others. */
export function groupOf(event: string): EventGroup {
  if (kindness.has(event)) return "kindness";
  return harm.has(event) ? "harm" : "other";
}

/** The mood in one sentence, which fits wounds and sleep. */
export function moodSentence({ mood, sleep_state, wounds }: Feeling): string {
  if (sleep_state === "asleep") return "It wakes when someone interacts with it.";
  if (wounds.length > 0) return "Something still hurts.";
  return moodSentences.get(mood) ?? "";
}

const buttonWords = new Map([
  ["pat_level1", "light pat"],
  ["pat_level2", "long pat"],
  ["conversation_reply", "reply in a conversation"],
  ["face_recognized", "known face"],
  ["voice_speaking", "speaking"],
  ["voice_listening", "being heard"],
  ["vision_description", "something seen"],
  ["snap_detected", "finger snap"],
  ["person_lost", "person left"],
]);

const kindness = new Set([
  "pat_level1",
  "pat_level2",
  "conversation_reply",
  "face_recognized",
  "voice_speaking",
  "voice_listening",
  "vision_description",
]);

const harm = new Set([
  "snap_detected",
  "loud_noise",
  "person_lost",
  "harsh_words",
  "insult",
  "violence",
  "abuse",
  "sustained_yelling",
]);

const moodSentences = new Map([
  ["happy", "At ease, and glad of company."],
  ["excited", "Full of joy."],
  ["curious", "Listening closely."],
  ["thinking", "Working something out."],
  ["sad", "Something weighs on it."],
  ["disappointed", "Hurt, and a little angry."],
  ["surprised", "Startled."],
  ["sleepy", "Nothing has happened for a long while."],
  ["proud", "Pleased with how things go."],
  ["calm", "Quiet, with little going on."],
]);

/** The mood in a word or two: sleep replaces it, and an open wound is always named. */
export function moodTitle({ mood, sleep_state, wounds }: Feeling): string {
  const word = asTitle(sleep_state === "asleep" ? "asleep" : mood);
  return wounds.length > 0 ? `${word} and hurt` : word;
}

/**
 * Why: every open wound, else the event that brought the mood; "" when no event did.
 *
 * @param elapsed seconds since the emotions were loaded.
 */
export function moodReason(emotions: Feeling, elapsed: number): string {
  const { mood_cause: cause, sleep_state, wounds } = emotions;
  const mood = cause === null || sleep_state === "asleep" ? [] : [cause];
  const causes = wounds.length > 0 ? wounds.toSorted((a, b) => a.age - b.age) : mood;
  const words = causes.map(
    ({ event, age }) => `${inWords(event)}, ${spanInWords(age + Math.max(0, elapsed))} ago`,
  );
  return words.length === 0 ? "" : `since ${words.join(", and ")}`;
}
