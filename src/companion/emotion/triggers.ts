import type { NewId } from "../../core/ids.ts";
import { own } from "../../core/shape.ts";
import { anchorHere, applyEvent } from "./acts.ts";
import { type EmotionConfiguration, severities, type Trigger } from "./configuration.ts";
import { type EmotionState, emotionLimits } from "./emotion.ts";
import { type Word, wordsOf } from "./words.ts";

interface Pattern {
  readonly trigger: Trigger;
  /** The place of the trigger in the file. */
  readonly order: number;
  readonly gravity: number;
  /** As it is written: its words with a space behind each. */
  readonly exact: string;
}

/** A pattern found in a text: the words from `from` to `to`, the last included. */
interface Match extends Pattern {
  readonly from: number;
  readonly to: number;
}

/** How many words away a negation or a "you" still counts. */
const reach = 3;

/**
 * The events that the words trigger which a person wrote or said, each with the words that caused it, word for
 * word and in the order of the text.
 *
 * Whole words count, in any case unless the trigger is `caps_only`. Not counted is what
 * - stands within three words after a negation in the same sentence: not, no, never, without,
 *   cannot, words in -n't. A "no" before a comma or full stop negates nothing;
 * - is not aimed at anybody, for a `directed` trigger: you (also you're, -'ll, -'ve, -'d), your or u
 *   in the pattern, or within three words in the same sentence;
 * - overlaps a graver match; of equal ones the longer, the earlier, the first in the file counts;
 * - caused the same event less than the cooldown ago. It does not start the cooldown again.
 *
 * Known limits. Missed: other spellings and languages, irony, words with marks between them ("shut,
 * up"). Taken at their word: what is quoted or reported ("he said shut up"), "you" that is somebody
 * else, a negation farther away.
 */
export function causesOf(
  config: EmotionConfiguration,
  state: EmotionState,
  text: string,
): ReadonlyMap<string, string> {
  const isCooling = coolingAt(config, state);
  const causes = new Map<string, string>();
  for (const { trigger, from, to, words } of spoken(config, text)) {
    if (isCooling(trigger.event) || causes.has(trigger.event)) continue;
    causes.set(trigger.event, text.slice(words[from]?.start, words[to]?.end));
  }
  return causes;
}

/** Applies what words triggered, each at most once. What the configuration has no event for does nothing. */
export function feelHeard(
  config: EmotionConfiguration,
  state: EmotionState,
  named: readonly string[],
  newId: NewId,
) {
  const events = named.filter((event) => Object.hasOwn(config.events, event));
  if (events.length === 0) return { state, felt: [] };
  const isCooling = coolingAt(config, state);
  const warm = Object.entries(state.anchor.heardAt).filter(([event]) => isCooling(event));
  const heardAt = Object.fromEntries([...warm, ...events.map((event) => [event, state.at])]);
  let after = anchorHere(config, state, { heardAt });
  const felt = events.map((event) => {
    const { state: next, ...outcome } = applyEvent(config, after, { event, id: newId() });
    after = next;
    return { event, ...outcome };
  });
  return { state: after, felt };
}

function coolingAt(config: EmotionConfiguration, { at, anchor }: EmotionState) {
  return (event: string) => {
    const last = own(anchor.heardAt, event);
    return last !== undefined && at - last < config.settings.transcriptCooldownMs;
  };
}

/** The patterns that the person means, in the order of the text; no two overlap. */
function spoken(config: EmotionConfiguration, text: string) {
  const words = wordsOf(text);
  const meant = findPatterns(config, words).filter(
    (match) => !isNegated(words, match) && (!match.trigger.directed || isDirected(words, match)),
  );
  return gravestOf(meant).map((match) => ({ ...match, words }));
}

/** By the words of a pattern in lower case, with a space behind each. */
type Patterns = ReadonlyMap<string, readonly Pattern[]>;

const patternsOf = new WeakMap<EmotionConfiguration, Patterns>();

/**
 * Every pattern of the configuration that stands in the words, whole words in a row with nothing but
 * white space between them. In time that grows with the number of words, however many patterns.
 */
function findPatterns(config: EmotionConfiguration, words: readonly Word[]): readonly Match[] {
  const patterns = patternsOf.get(config) ?? patternsIn(config);
  patternsOf.set(config, patterns);
  const found: Match[] = [];
  for (let from = 0; from < words.length; from++) {
    let folded = "";
    let exact = "";
    for (let to = from; to < from + emotionLimits.patternWords; to++) {
      const word = words[to];
      if (word === undefined || (to > from && !word.follows)) break;
      folded += `${word.folded} `;
      exact += `${word.exact} `;
      for (const pattern of patterns.get(folded) ?? []) {
        const fits = !pattern.trigger.capsOnly || pattern.exact === exact;
        if (fits) found.push({ ...pattern, from, to });
      }
    }
  }
  return found;
}

function patternsIn({ triggers, events }: EmotionConfiguration): Patterns {
  const all = triggers.flatMap((trigger, order) => {
    const gravity = severities.indexOf(own(events, trigger.event)?.severity ?? "mild");
    return trigger.patterns.map((text) => {
      const words = wordsOf(text);
      const folded = words.map((word) => `${word.folded} `).join("");
      const exact = words.map((word) => `${word.exact} `).join("");
      return { trigger, order, gravity, folded, exact };
    });
  });
  return Map.groupBy(all, ({ folded }) => folded);
}

function isNegated(words: readonly Word[], { from }: Match): boolean {
  return near(words, from, from - reach, from - 1).some(
    ({ folded, isCutOff }) =>
      /^(?:not|never|without|cannot)$|n't$/.test(folded) || (folded === "no" && !isCutOff),
  );
}

function isDirected(words: readonly Word[], { from, to }: Match): boolean {
  return near(words, from, from - reach, to + reach).some(({ folded }) =>
    /^(?:you(?:'(?:re|ll|ve|d))?|your|u)$/.test(folded),
  );
}

/** The words from one position to another that stand in the sentence of the word at `of`. */
function near(words: readonly Word[], of: number, from: number, to: number): readonly Word[] {
  const sentence = words[of]?.sentence;
  return words.slice(Math.max(0, from), to + 1).filter((word) => word.sentence === sentence);
}

/** Of matches that share a word only the gravest. */
function gravestOf(matches: readonly Match[]): readonly Match[] {
  const taken = new Set<number>();
  const byGravity = matches.toSorted(
    (a, b) =>
      b.gravity - a.gravity ||
      b.to - b.from - (a.to - a.from) ||
      a.from - b.from ||
      a.order - b.order,
  );
  const kept = byGravity.filter(({ from, to }) => {
    for (let at = from; at <= to; at++) if (taken.has(at)) return false;
    for (let at = from; at <= to; at++) taken.add(at);
    return true;
  });
  return kept.toSorted((a, b) => a.from - b.from);
}
