import { boredomLine } from "./boredom.ts";
import type { EmotionConfiguration } from "./configuration.ts";
import type { Anchor, EmotionState, Levels, Mood, Override, VoiceState, Wound } from "./emotion.ts";
import { healsInMs, levelLines, levelsAt, woundAt } from "./levels.ts";
import { valueAt } from "./lines.ts";
import { type MoodChange, moodChanges } from "./mood-changes.ts";

export interface Feeling {
  readonly at: number;
  readonly levels: Levels;
  readonly boredom: number;
  readonly wounds: readonly FeltWound[];
  /** What shows: the override while there is one, else what the rules made of the rest. */
  readonly mood: Mood;
  /** What shows once the override is over; the same as `mood` without one. */
  readonly derivedMood: Mood;
  readonly derivedMoodSince: number;
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
    derivedMoodSince: derived.at,
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

/** The mood that the rules have made of it, override or not, and since when. */
export function derivedMood(config: EmotionConfiguration, state: EmotionState): MoodChange {
  const { mood, moodSince } = state.anchor;
  const last = moodsOf(config, state.anchor).findLast(({ at }) => at <= state.at);
  return last ?? { at: moodSince, mood };
}

export function boredomAt(config: EmotionConfiguration, anchor: Anchor, at: number): number {
  return valueAt(linesOf(config, anchor).boredom, at - anchor.at);
}

/** The override that shows at an instant: it ends strictly after its own. */
export function overrideAt({ override }: Anchor, at: number): Override | null {
  return override !== null && at <= override.until ? override : null;
}

const linesOf = oncePerAnchor((config, anchor) => {
  const levels = levelLines(config, anchor);
  return { levels, boredom: boredomLine(config, anchor, levels) };
});

const moodsOf = oncePerAnchor((config, anchor): readonly MoodChange[] => {
  const { levels, boredom } = linesOf(config, anchor);
  return moodChanges(config, anchor, levels, boredom);
});

/** Computes something once for an anchor that cannot change, as all of ours cannot. */
function oncePerAnchor<T>(compute: (config: EmotionConfiguration, anchor: Anchor) => T) {
  const known = new WeakMap<Anchor, { config: EmotionConfiguration; value: T }>();
  return (config: EmotionConfiguration, anchor: Anchor): T => {
    const found = known.get(anchor);
    if (found?.config === config) return found.value;
    const value = compute(config, anchor);
    if (Object.isFrozen(anchor) && Object.isFrozen(config)) known.set(anchor, { config, value });
    return value;
  };
}
