import { own } from "../../core/shape.ts";
import { type EmotionConfiguration, severities, type Trigger } from "./configuration.ts";
import { type Word, wordsOf } from "./words.ts";

/** A pattern found in a text: the words from `from` to `to`, the last included. */
export interface Match {
  readonly trigger: Trigger;
  readonly order: number;
  readonly gravity: number;
  readonly from: number;
  readonly to: number;
}

/** By the words of a pattern with a space between them. */
type Phrases = Map<string, Omit<Match, "from" | "to">[]>;

interface Patterns extends Record<"exact" | "folded", Phrases> {
  /** The most words of one. */
  readonly longest: number;
}

const patternsOf = new WeakMap<EmotionConfiguration, Patterns>();

/**
 * Every pattern of the configuration that stands in the words, whole words in a row with nothing but
 * white space between them. In time that grows with the number of words, however many patterns.
 */
export function findPatterns(config: EmotionConfiguration, words: readonly Word[]): Match[] {
  const phrases = patternsOf.get(config) ?? patternsIn(config);
  patternsOf.set(config, phrases);
  const found: Match[] = [];
  for (let from = 0; from < words.length; from++) {
    for (const form of ["exact", "folded"] as const) {
      let phrase = "";
      for (let to = from; to < from + phrases.longest; to++) {
        const word = words[to];
        if (word === undefined || (to > from && !word.follows)) break;
        phrase += `${word[form]} `;
        for (const match of phrases[form].get(phrase) ?? []) found.push({ ...match, from, to });
      }
    }
  }
  return found;
}

function patternsIn({ triggers, events }: EmotionConfiguration): Patterns {
  const phrases = { exact: new Map() as Phrases, folded: new Map() as Phrases };
  for (const [order, trigger] of triggers.entries()) {
    const form = trigger.capsOnly ? "exact" : "folded";
    const gravity = severities.indexOf(own(events, trigger.event)?.severity ?? "mild");
    // A pattern written twice counts once.
    for (const phrase of new Set(trigger.patterns.map((each) => phraseOf(each, form)))) {
      const known = phrases[form].get(phrase) ?? [];
      phrases[form].set(phrase, [...known, { trigger, order, gravity }]);
    }
  }
  const all = triggers.flatMap(({ patterns }) => patterns);
  return { ...phrases, longest: Math.max(0, ...all.map((each) => wordsOf(each).length)) };
}

function phraseOf(pattern: string, form: "exact" | "folded"): string {
  return wordsOf(pattern)
    .map((word) => `${word[form]} `)
    .join("");
}
