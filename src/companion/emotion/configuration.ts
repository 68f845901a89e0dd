import type { Emotion, Mood, VoiceState } from "./emotion.ts";

/** Everything that can be set about emotions; see `readEmotionConfiguration` for how it is written. */
export interface EmotionConfiguration {
  readonly emotions: Readonly<Record<Emotion, EmotionRule>>;
  /** By name. */
  readonly events: Readonly<Record<string, EmotionEvent>>;
  /** The first that matches says the mood; none: calm. */
  readonly moodRules: readonly MoodRule[];
  readonly boredom: BoredomRule;
  readonly triggers: readonly Trigger[];
  readonly settings: EmotionSettings;
}

interface EmotionRule {
  /** Where the level rests, 0 to 1. */
  readonly baseline: number;
  /** How fast it goes there from either side. */
  readonly decayPerSecond: number;
}

/** From the least to the gravest. */
export const severities = ["healing", "mild", "moderate", "severe"] as const;
export type Severity = (typeof severities)[number];

export interface EmotionEvent {
  readonly severity: Severity;
  readonly deltas: Readonly<Partial<Record<Emotion, number>>>;
  /** Taken off every floor of every wound. */
  readonly woundReduction: number;
  /** What a severe event leaves behind. */
  readonly wound?: WoundRule;
}

interface WoundRule {
  readonly floors: Readonly<Partial<Record<Emotion, number>>>;
  readonly durationMs: number;
  readonly healPerSecond: number;
}

export interface MoodRule {
  readonly mood: Mood;
  /** All must hold; an empty list always does. */
  readonly conditions: readonly Condition[];
}

export type Condition =
  | Comparison
  | { readonly kind: "voice"; readonly value: VoiceState }
  | { readonly kind: "wounds"; readonly value: boolean }
  | { readonly kind: "dominant"; readonly value: Emotion };

export const comparators = [">=", "<=", "==", ">", "<"] as const;

export interface Comparison {
  readonly kind: "compare";
  readonly what: Emotion | "boredom";
  /** `==` holds within `equalityTolerance`. */
  readonly comparator: (typeof comparators)[number];
  readonly value: number;
}

/** Source: the original compared floats that were moved frame by frame. */
export const equalityTolerance = 0.001;

interface BoredomRule {
  readonly growPerSecond: number;
  readonly decayPerSecond: number;
  /** Boredom grows while joy is below this, or nothing happened for `neglectAfterMs`, and ... */
  readonly joyBelow: number;
  /** ... every other emotion is below this. */
  readonly negativesBelow: number;
  /** `null`: never. */
  readonly neglectAfterMs: number | null;
}

export interface Trigger {
  /** A name in `events`. */
  readonly event: string;
  /** Words in a row. */
  readonly patterns: readonly string[];
  /** The words must be written exactly as in the pattern. */
  readonly capsOnly: boolean;
  /** "you" must stand within three words, or in the pattern. */
  readonly directed: boolean;
}

interface EmotionSettings {
  /** A mood lasts at least this long. */
  readonly hysteresisMs: number;
  /** The same event is not caused by words again for this long. */
  readonly transcriptCooldownMs: number;
  readonly maxWounds: number;
  /** Watchers are notified when a level or boredom has moved by this much. */
  readonly publishThreshold: number;
}

/** Bounds of a configuration. Seconds and rates are far past any use, so that sums stay finite. */
export const emotionLimits = {
  events: 200,
  rules: 100,
  conditions: 16,
  triggers: 100,
  patterns: 1_000,
  patternWords: 8,
  patternLength: 100,
  nameLength: 64,
  wounds: 20,
  seconds: 1_000_000_000,
  perSecond: 1_000,
  delta: 10,
} as const;
