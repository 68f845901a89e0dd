import { durationText } from "./durations.ts";
import type { Feeling } from "./emotion/feel.ts";
import type { SleepState } from "./life.ts";
import { label } from "./quoted-lines.ts";

/**
 * The mood as a model reads it: the word, then why. Sleep stands in place of the mood, and every open
 * wound is named: "happy and hurt, since abuse, 36 seconds ago".
 */
export function moodText(feeling: Feeling, sleepState: SleepState): string {
  const wounds = feeling.wounds.toSorted((a, b) => a.ageSeconds - b.ageSeconds);
  const word = sleepState === "asleep" ? "asleep" : feeling.mood;
  if (wounds.length > 0) return `${word} and hurt, since ${wounds.map(causeText).join(", and ")}`;
  const { cause } = feeling;
  return cause === undefined || word === "asleep" ? word : `${word}, since ${causeText(cause)}`;
}

function causeText({ event, ageSeconds }: { readonly event: string; readonly ageSeconds: number }) {
  const age = durationText({ gapMs: ageSeconds * 1_000, certainty: "certain" });
  return `${label(event) ?? "something"}, ${age} ago`;
}
