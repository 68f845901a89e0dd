import { spanInWords } from "../../ui/durations.ts";
import { asTitle, type Feeling, inWords } from "./words.ts";

/** The mood in a word or two: sleep stands in its place, and an open wound is always named. */
export function moodTitle({ mood, sleep_state, wounds }: Feeling): string {
  const word = asTitle(sleep_state === "asleep" ? "asleep" : mood);
  return wounds.length > 0 ? `${word} and hurt` : word;
}

/**
 * Why: every open wound, else the event that brought the mood; "" when no event did.
 *
 * @param elapsed seconds since the moment that the emotions tell of.
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
