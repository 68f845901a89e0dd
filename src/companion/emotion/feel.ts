import {
  type Comparison,
  type Condition,
  type EmotionConfiguration,
  equalityTolerance,
  type MoodRule,
} from "./configuration.ts";
import {
  type Anchor,
  type Emotion,
  type EmotionState,
  emotionLimits,
  emotions,
  type Levels,
  lastInstant,
  type Mood,
  type Override,
  type VoiceState,
  type Wound,
} from "./emotion.ts";
import { boredomAt, healsInMs, levelsAt, woundAt } from "./levels.ts";

export interface Feeling {
  readonly at: number;
  readonly levels: Levels;
  readonly boredom: number;
  readonly wounds: readonly FeltWound[];
  /** What shows: the override while there is one, else what the rules made of the rest. */
  readonly mood: Mood;
  /** What shows once the override is over; the same as `mood` without one. */
  readonly derivedMood: Mood;
  readonly override?: Override;
  /** The event that brought the mood that shows; `undefined`: time, the voice or a person did. */
  readonly cause: { readonly event: string; readonly ageSeconds: number } | undefined;
  readonly voiceState: VoiceState;
}

/** A wound, its floors as they are now. */
interface FeltWound extends Wound {
  readonly ageSeconds: number;
  /** The floors are falling: the wound is as old as its duration, or older. */
  readonly healing: boolean;
  /** Whole milliseconds until it is gone, if nothing else happens; `null`: never by itself. */
  readonly healsInMs: number | null;
}

/** How the companion feels at `state.at`. The same state always feels the same. */
export function feel(config: EmotionConfiguration, state: EmotionState): Feeling {
  const { at, anchor } = state;
  const derived = derivedMood(config, state);
  const override = overrideAt(anchor, at);
  return {
    at,
    levels: levelsAt(config, anchor, at),
    boredom: boredomAt(config, anchor, at),
    wounds: anchor.wounds.flatMap((wound) => feltWound(wound, anchor.at, at) ?? []),
    mood: override?.mood ?? derived.mood,
    derivedMood: derived.mood,
    ...(override !== null && { override }),
    cause: override === null ? causeOf(state, derived.mood) : undefined,
    voiceState: anchor.voiceState,
  };
}

function causeOf({ at, anchor: { cause } }: EmotionState, mood: Mood): Feeling["cause"] {
  if (cause === null || cause.mood !== mood) return undefined;
  return { event: cause.event, ageSeconds: (at - cause.at) / 1000 };
}

function feltWound(wound: Wound, anchorAt: number, at: number): FeltWound | undefined {
  const now = woundAt(wound, anchorAt, at);
  return (
    now && {
      ...now,
      ageSeconds: (at - wound.createdAt) / 1000,
      healing: at - wound.createdAt >= wound.durationMs,
      healsInMs: healsInMs(wound, anchorAt, at),
    }
  );
}

/**
 * The mood that the rules made of it, override or not, and since when it is to last for the hysteresis. The rules
 * are asked when the last mood has lasted that long, and then each time that it has passed again.
 */
export function derivedMood(config: EmotionConfiguration, { at, anchor }: EmotionState) {
  const { hysteresisMs } = config.settings;
  const ruled = (when: number) => ruledMood(config, anchor, boredomAt(config, anchor, when), when);
  const freeAt = Math.max(anchor.at, anchor.moodSince + hysteresisMs);
  if (at < freeAt) return { mood: anchor.mood, since: anchor.moodSince };
  const everyMs = Math.max(1, hysteresisMs);
  const askedAt = at - ((at - freeAt) % everyMs);
  const mood = ruled(askedAt);
  const before = askedAt === freeAt ? anchor.mood : ruled(askedAt - everyMs);
  const hasLasted = mood === before && at > anchor.moodSince;
  return { mood, since: hasLasted ? notHeld(at) : askedAt };
}

/** So long ago that no hysteresis holds what began then. */
export function notHeld(at: number): number {
  return Math.max(-lastInstant, at - emotionLimits.seconds * 1_000);
}

/** The override that shows at an instant: it ends strictly after its own. */
export function overrideAt({ override }: Anchor, at: number): Override | null {
  return override !== null && at <= override.until ? override : null;
}

interface Senses {
  readonly levels: Levels;
  readonly boredom: number;
  readonly hasWounds: boolean;
  readonly voiceState: VoiceState;
}

/** The mood that the rules say at an instant, however long the last one lasted: that of the first that matches, else calm. */
export function ruledMood(
  config: EmotionConfiguration,
  anchor: Anchor,
  boredom: number,
  at: number,
): Mood {
  const hasWounds = anchor.wounds.some((wound) => woundAt(wound, anchor.at, at) !== undefined);
  const levels = levelsAt(config, anchor, at);
  const senses = { levels, boredom, hasWounds, voiceState: anchor.voiceState };
  return matchingRule(config.moodRules, senses)?.mood ?? "calm";
}

export function matchingRule(rules: readonly MoodRule[], senses: Senses): MoodRule | undefined {
  return rules.find(({ conditions }) => conditions.every((each) => holds(each, senses)));
}

function holds(condition: Condition, senses: Senses): boolean {
  switch (condition.kind) {
    case "voice":
      return senses.voiceState === condition.value;
    case "wounds":
      return senses.hasWounds === condition.value;
    case "dominant":
      return dominant(senses.levels) === condition.value;
    case "compare": {
      const { what, comparator, value } = condition;
      return compares[comparator](what === "boredom" ? senses.boredom : senses.levels[what], value);
    }
  }
}

/** The emotion with the highest level; of equal ones the first in the order of `emotions`. */
function dominant(levels: Levels): Emotion {
  return emotions.reduce((found, each) => (levels[each] > levels[found] ? each : found));
}

const compares: Readonly<
  Record<Comparison["comparator"], (actual: number, value: number) => boolean>
> = {
  ">=": (actual, value) => actual >= value,
  "<=": (actual, value) => actual <= value,
  ">": (actual, value) => actual > value,
  "<": (actual, value) => actual < value,
  "==": (actual, value) => Math.abs(actual - value) < equalityTolerance,
};
