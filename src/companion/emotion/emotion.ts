// How the companion feels: read this file first. A state is plain JSON and never changes; every
// function takes one and gives another, with the configuration beside it.
//
//   what may happen      configuration.ts, built-in-emotions.ts
//   time                 emotion.ts moves the instant; feel.ts says how it feels then
//   what happens         acts.ts: an event, a person, an override, a run that goes down or comes up
//   the person's words   triggers.ts
//   on disk              stored-emotions.ts
//   below that           levels.ts, boredom.ts, mood-rules.ts, mood-changes.ts, lines.ts

/** In the order in which a tie for the highest level is decided. */
export const emotions = ["joy", "sadness", "anger", "fear", "disgust"] as const;
export type Emotion = (typeof emotions)[number];

/** Each from 0 to 1. */
export type Levels = Readonly<Record<Emotion, number>>;

/** What a rule may name and an override may ask for. */
export const moods = [
  "happy",
  "excited",
  "curious",
  "thinking",
  "sad",
  "disappointed",
  "surprised",
  "sleepy",
  "proud",
  "calm",
] as const;
export type Mood = (typeof moods)[number];

export const voiceStates = ["idle", "listening", "thinking", "speaking"] as const;
export type VoiceState = (typeof voiceStates)[number];

/**
 * A lasting hurt: floors that levels do not fall below. They hold until `createdAt + durationMs`,
 * then fall by `healPerSecond`; the wound is gone when all are 0.
 */
export interface Wound {
  readonly id: string;
  readonly event: string;
  /** From 0 to 1, as they were at the anchor. */
  readonly floors: Readonly<Partial<Record<Emotion, number>>>;
  readonly durationMs: number;
  readonly healPerSecond: number;
  readonly createdAt: number;
}

/** A mood that somebody asked for. It shows up to and including `until`. */
export interface Override {
  readonly mood: Mood;
  readonly until: number;
}

export interface MoodCause {
  readonly event: string;
  readonly at: number;
  readonly mood: Mood;
}

/** The last moment at which something other than time happened, and all that was felt then. */
export interface Anchor {
  readonly at: number;
  readonly levels: Levels;
  readonly boredom: number;
  readonly wounds: readonly Wound[];
  /** A run is up. While none is, boredom only falls. */
  readonly isUp: boolean;
  readonly voiceState: VoiceState;
  /** The last event, act of a person, or start of a run: neglect counts from here. */
  readonly stimulusAt: number;
  readonly personAt: number;
  /** What the rules had made of it when the anchor was set; the values above may say another. */
  readonly mood: Mood;
  readonly moodSince: number;
  readonly override: Override | null;
  /** The last event that brought another mood; it explains the mood while that is still the one. */
  readonly cause: MoodCause | null;
  /** When the words of a trigger last caused each event. */
  readonly heardAt: Readonly<Record<string, number>>;
}

/**
 * How the companion feels, at any instant. Only `at` moves with time; what is felt at `at` is
 * computed from the anchor in closed form, so that stopping on the way, saving and loading change
 * not one bit.
 *
 * All instants are whole milliseconds on the state's own clock: it starts where `startState` says
 * (milliseconds since 1970, if you like) and goes by what `evolve` is told, never back. Compare
 * them with each other only.
 */
export interface EmotionState {
  readonly at: number;
  readonly anchor: Anchor;
}

/** The last instant that a state can reach, that of `Date`: later ones are cut to it. */
export const lastInstant = 8_640_000_000_000_000;

/** Calls `tell` for each of the five emotions. */
export function eachLevel<T>(tell: (emotion: Emotion) => T): Readonly<Record<Emotion, T>> {
  return {
    joy: tell("joy"),
    sadness: tell("sadness"),
    anger: tell("anger"),
    fear: tell("fear"),
    disgust: tell("disgust"),
  };
}

/**
 * Lets time pass: nothing is written but the instant. `evolve(evolve(s, a), b)` equals
 * `evolve(s, a + b)` bit for bit.
 *
 * @param ms whole milliseconds; a fraction is dropped. What is negative or not finite is no time at
 *   all, since clocks jump. Past `lastInstant` time stands still.
 */
export function evolve(state: EmotionState, ms: number): EmotionState {
  const step = Number.isFinite(ms) && ms > 0 ? Math.floor(ms) : 0;
  const at = Math.min(lastInstant, state.at + step);
  return at === state.at ? state : Object.freeze({ at, anchor: state.anchor });
}
