// A feeling as it is stored, declared twice: our own state, to the bit, and the part that the seed has.
import {
  checked,
  each,
  list,
  nullAsAbsent,
  number,
  object,
  optional,
  type Read,
  type Shape,
  text,
  word,
} from "../../core/shape.ts";
import { anchored, longestOverrideSeconds, restingAnchor } from "./acts.ts";
import type { EmotionConfiguration } from "./configuration.ts";
import {
  type EmotionState,
  emotions,
  instant,
  type Levels,
  lastInstant,
  emotionLimits as limits,
  moods,
  share,
  shareByEmotion,
  storedAnchor,
  type Wound,
} from "./emotion.ts";
import { feel } from "./feel.ts";

/** The state itself: what comes back is the same to the bit. */
export const storedState = checked(
  object<EmotionState>({ at: instant, anchor: storedAnchor }, "left out"),
  ({ at, anchor: { at: anchoredAt, wounds, override, cause, heardAt, ...since } }, place) => {
    const { stimulusAt, personAt, moodSince } = since;
    const past = [stimulusAt, personAt, moodSince, cause?.at ?? anchoredAt];
    past.push(...wounds.map(({ createdAt }) => createdAt), ...Object.values(heardAt));
    const latest = anchoredAt + longestOverrideSeconds * 1000;
    if (anchoredAt > at) place.says("must not be earlier than its anchor");
    if (past.some((then) => then > anchoredAt)) place.says("must not know what came after it");
    if (override !== null && override.until > latest)
      place.says("must end its override in an hour");
  },
);

/** Wounds that are read of a file of the seed, which has no bound. */
const mostSeedWounds = 1_000;

const seedWound = object(
  {
    id: text(undefined, "unknown"),
    event: text(undefined, "unknown"),
    floors: shareByEmotion,
    durationMs: ["duration", number(0, limits.seconds, 300, 1000)],
    healPerSecond: ["heal_rate", number(0, limits.perSecond, 0.001)],
    createdAt: ["created_at", number(-lastInstant / 1000, lastInstant / 1000, 0, 1000)],
    /** Of `durationMs`, at the save. */
    leftMs: ["remaining_fixed_seconds", number(0, limits.seconds, 0, 1000)],
  },
  "left out",
);

/** For readers of the seed's format, in its names and seconds; what is missing has the seed's defaults. */
export const seedEmotions = object(
  {
    levels: each(emotions, nullAsAbsent(optional(share)), "left out") as Shape<Partial<Levels>>,
    boredom: nullAsAbsent(number(0, 1, 0)),
    /** The mood without an override, as the seed has it. */
    mood: ["current_mood", word(moods, "happy")],
    wounds: list(seedWound, mostSeedWounds),
  },
  "left out",
);

type SeedEmotions = Read<typeof seedEmotions>;

export function toSeed(config: EmotionConfiguration, state: EmotionState): SeedEmotions {
  const { at, levels, boredom, derivedMood, wounds } = feel(config, state);
  return {
    levels,
    boredom,
    mood: derivedMood,
    wounds: wounds.map(({ id, event, floors, durationMs, healPerSecond, createdAt }) => {
      const leftMs = Math.max(0, createdAt + durationMs - at);
      return { id, event, floors, durationMs, healPerSecond, createdAt, leftMs };
    }),
  };
}

/**
 * The state that a file of the seed tells of.
 *
 * @param at the instant of the save, in milliseconds.
 */
export function fromSeed(
  config: EmotionConfiguration,
  { levels, boredom, mood, wounds }: SeedEmotions,
  at: number,
): EmotionState {
  const savedAt = Math.min(lastInstant, Math.max(0, Math.round(at)));
  const resting = restingAnchor(config, savedAt);
  const hurting = wounds
    .filter(({ floors }) => Object.values(floors).some((floor) => floor > 0))
    .map((stored) => woundAt(stored, savedAt));
  return anchored({
    ...resting,
    levels: { ...resting.levels, ...levels },
    boredom,
    mood,
    wounds: hurting.slice(-limits.wounds),
  });
}

/** The time that is left decides. Past it, the age is the stored one if it can be. */
function woundAt({ leftMs, ...wound }: Read<typeof seedWound>, savedAt: number): Wound {
  const { createdAt, durationMs } = wound;
  const isPast = leftMs === 0 && createdAt > 0 && createdAt + durationMs <= savedAt;
  // Rounding to 0.1 s, as the original did, may leave a little more than the whole.
  const fixedUntil = savedAt + Math.min(durationMs, leftMs);
  return { ...wound, createdAt: isPast ? createdAt : fixedUntil - durationMs };
}
