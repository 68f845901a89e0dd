// How the companion feels: read this file first. A state is plain JSON and never changes; every
// function takes one and gives another, with the configuration beside it.
//
//   what may happen      configuration.ts, built-in-emotions.ts
//   time                 emotion.ts moves the instant; feel.ts says how it feels then
//   what happens         acts.ts: an event, a person, an override, a run that goes down or comes up
//   the person's words   triggers.ts
//   on disk              stored-emotions.ts
//   below that           levels.ts, words.ts

import {
  each,
  flag,
  list,
  nullable,
  number,
  object,
  optional,
  type Read,
  record,
  type Shape,
  text,
  whole,
  word,
} from "../../core/shape.ts";

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

/** The last instant that a state can reach, that of `Date`: later ones are cut to it. */
export const lastInstant = 8_640_000_000_000_000;

export const share = number(0, 1);
export const instant = whole(-lastInstant, lastInstant);
export const shareByEmotion = each(emotions, optional(share), "left out") as Shape<Partial<Levels>>;

const wound = object(
  {
    id: text(),
    event: text(),
    /** As they were at the anchor. */
    floors: shareByEmotion,
    durationMs: whole(0, emotionLimits.seconds * 1000),
    healPerSecond: number(0, emotionLimits.perSecond),
    createdAt: instant,
  },
  "left out",
);

/**
 * A lasting hurt: floors that levels do not fall below. They hold until `createdAt + durationMs`,
 * then fall by `healPerSecond`; the wound is gone when all are 0.
 */
export type Wound = Read<typeof wound>;

const override = object({ mood: word(moods), until: instant }, "left out");

/** A mood that somebody asked for. It shows up to and including `until`. */
export type Override = Read<typeof override>;

/** Our own state as it is stored, to the bit. */
export const storedAnchor = object(
  {
    at: instant,
    levels: each(emotions, share, "left out"),
    boredom: share,
    wounds: list(wound, emotionLimits.wounds),
    /** A run is up. While none is, boredom only falls. */
    isUp: flag(),
    voiceState: word(voiceStates),
    /** The last event, act of a person, or start of a run: neglect counts from here. */
    stimulusAt: instant,
    personAt: instant,
    /** What the rules had made of it when the anchor was set; the values above may say another. */
    mood: word(moods),
    moodSince: instant,
    override: nullable(override),
    /** The last event that brought another mood; it explains the mood while that is still the one. */
    cause: nullable(object({ event: text(), at: instant, mood: word(moods) }, "left out")),
    /** When the words of a trigger last caused each event. */
    heardAt: record(instant),
  },
  "left out",
);

/** The last moment at which something other than time happened, and all that was felt then. */
export type Anchor = Read<typeof storedAnchor>;

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
