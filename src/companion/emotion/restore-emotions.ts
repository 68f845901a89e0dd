import { isJsonObject } from "../../core/json.ts";
import { own } from "../../core/shape.ts";
import { longestOverrideSeconds } from "./acts.ts";
import { anchored, anchorNow, longestToHeal, restingAnchor } from "./anchor.ts";
import { type EmotionConfiguration, emotionLimits } from "./configuration.ts";
import {
  type Anchor,
  type EmotionState,
  eachLevel,
  emotions,
  type Levels,
  lastInstant,
  type MoodCause,
  moods,
  type Override,
  voiceStates,
  type Wound,
} from "./emotion.ts";
import { isInstant, Repairs } from "./repairs.ts";
import { readOwnWounds, readSeedWounds } from "./stored-wounds.ts";

interface RestoredEmotions {
  /** As it was at the save: `evolve` it over the gap, suspended if no run was up. */
  readonly state: EmotionState;
  /** What was put right, in sentences that quote no value; empty when all came back as it was. */
  readonly repaired: readonly string[];
}

type Stored = Readonly<Record<string, unknown>>;

/**
 * The state out of the two parts that `storeEmotions` gave, whatever has become of them. A whole
 * `own` is the state itself. Otherwise the seed's fields say what was felt at the save, which is
 * also how a file of the original comes in, and what is left of `own` tells the rest. What cannot
 * be used is put into range, else set as at rest, and said. Never throws; changes nothing it reads.
 *
 * At most `max_wounds` wounds come back, those longest to heal.
 *
 * @param at the instant of the save, in milliseconds, for when `own` cannot tell.
 */
export function restoreEmotions(
  config: EmotionConfiguration,
  seedPart: unknown,
  ownPart: unknown,
  at: number,
): RestoredEmotions {
  const repairs = new Repairs();
  const savedAt = isInstant(at) ? Math.max(0, at) : 0;
  if (ownPart === undefined) {
    const base = restingAnchor(config, savedAt);
    return restored(withSeedFields(config, seedPart, base, repairs), repairs);
  }
  const stored = repairs.object(ownPart, "the own state");
  const storedAnchor = repairs.object(own(stored, "anchor"), "the anchor");
  const ownAt = readAt(own(stored, "at"), own(storedAnchor, "at"), savedAt, repairs);
  const state = { at: ownAt, anchor: readAnchor(config, storedAnchor, ownAt, repairs) };
  if (repairs.said.length === 0) return { state: freezeState(state), repaired: [] };
  const now = anchorNow(config, freezeState(state));
  return restored(withSeedFields(config, seedPart, now, repairs), repairs);
}

/**
 * The configuration for a state with which no run begins: one that another process goes on with, or
 * one of the past. It comes back with all its wounds, which a configuration in force never takes away.
 */
export function withRoomForWounds(config: EmotionConfiguration): EmotionConfiguration {
  return { ...config, settings: { ...config.settings, maxWounds: emotionLimits.wounds } };
}

function restored(anchor: Anchor, repairs: Repairs): RestoredEmotions {
  return { state: anchored(anchor), repaired: repairs.said };
}

function freezeState({ at, anchor }: EmotionState): EmotionState {
  return { ...anchored(anchor), at };
}

/** What the seed's fields say was felt at the anchor's instant; where they say nothing, the anchor. */
function withSeedFields(
  config: EmotionConfiguration,
  seedPart: unknown,
  base: Anchor,
  repairs: Repairs,
): Anchor {
  const seed = repairs.object(seedPart, "emotions");
  if (!isJsonObject(seedPart)) return base;
  const mood = repairs.word(own(seed, "current_mood"), "current_mood", moods) ?? base.mood;
  const wounds = readSeedWounds(own(seed, "wounds"), base.at, repairs) ?? base.wounds;
  return {
    ...base,
    levels: readLevels(own(seed, "levels"), base.levels, repairs),
    boredom: repairs.share(own(seed, "boredom"), "boredom", base.boredom),
    wounds: fewEnough(config, wounds, base.at, repairs),
    mood,
    moodSince: mood === base.mood ? base.moodSince : base.at,
  };
}

function readLevels(value: unknown, otherwise: Levels, repairs: Repairs): Levels {
  const stored = repairs.object(value, "levels");
  const unknown = Object.keys(stored).filter((name) => emotions.every((known) => known !== name));
  if (unknown.length > 0)
    repairs.says(`${unknown.length} levels are of no known emotion: left out`);
  return eachLevel((emotion) =>
    repairs.share(own(stored, emotion), `the level of ${emotion}`, otherwise[emotion]),
  );
}

function fewEnough(
  config: EmotionConfiguration,
  wounds: readonly Wound[],
  at: number,
  repairs: Repairs,
): readonly Wound[] {
  const most = config.settings.maxWounds;
  if (wounds.length <= most) return wounds;
  repairs.says(`${wounds.length} wounds, ${most} are the most: those longest to heal are kept`);
  return longestToHeal(wounds, at, most);
}

/** The instant of the save. One before the anchor is wrong, unless the anchor is what is. */
function readAt(value: unknown, anchorAt: unknown, savedAt: number, repairs: Repairs): number {
  const at = repairs.instant(value, "at", lastInstant, savedAt);
  const isBeforeAnchor = isInstant(anchorAt) && at < anchorAt && anchorAt <= savedAt;
  if (!isBeforeAnchor && at >= 0) return at;
  repairs.says("at is before the anchor");
  return savedAt;
}

function readAnchor(
  config: EmotionConfiguration,
  stored: Stored,
  savedAt: number,
  repairs: Repairs,
): Anchor {
  const at = repairs.instant(own(stored, "at"), "the anchor's instant", savedAt, savedAt);
  const rest = restingAnchor(config, at);
  const past = (name: string) => repairs.instant(own(stored, name), name, at, at);
  const isUp = own(stored, "isUp");
  if (typeof isUp !== "boolean") repairs.says("isUp is not true or false: set to true");
  const wounds = readOwnWounds(own(stored, "wounds"), at, repairs) ?? [];
  return {
    at,
    levels: readLevels(own(stored, "levels"), rest.levels, repairs),
    boredom: repairs.share(own(stored, "boredom"), "boredom", 0),
    wounds: fewEnough(config, wounds, at, repairs),
    isUp: isUp !== false,
    voiceState: repairs.word(own(stored, "voiceState"), "voiceState", voiceStates) ?? "idle",
    stimulusAt: past("stimulusAt"),
    personAt: past("personAt"),
    mood: repairs.word(own(stored, "mood"), "mood", moods) ?? "happy",
    moodSince: past("moodSince"),
    override: readOverride(own(stored, "override"), at, repairs),
    cause: readCause(own(stored, "cause"), at, repairs),
    heardAt: readHeardAt(stored, at, repairs),
  };
}

function readOverride(value: unknown, at: number, repairs: Repairs): Override | null {
  if (value === null) return null;
  const stored = repairs.object(value, "the override");
  const mood = moods.find((known) => known === own(stored, "mood"));
  const until = own(stored, "until");
  const latest = at + longestOverrideSeconds * 1000;
  if (mood !== undefined && isInstant(until) && until <= latest) return { mood, until: until + 0 };
  repairs.says("the override cannot be read: left out");
  return null;
}

/** A state that an earlier version stored has none. */
function readCause(value: unknown, anchorAt: number, repairs: Repairs): MoodCause | null {
  if (value === null || value === undefined) return null;
  const stored = isJsonObject(value) ? value : {};
  const event = own(stored, "event");
  const at = own(stored, "at");
  const mood = moods.find((known) => known === own(stored, "mood"));
  const isNamed = typeof event === "string" && event.length <= emotionLimits.nameLength;
  if (mood !== undefined && isNamed && isInstant(at) && at <= anchorAt) return { event, at, mood };
  repairs.says("the cause of the mood cannot be read: left out");
  return null;
}

function readHeardAt(stored: Stored, at: number, repairs: Repairs): Anchor["heardAt"] {
  const entries = Object.entries(repairs.object(own(stored, "heardAt"), "heardAt"));
  const kept = entries.filter(
    (entry): entry is [string, number] =>
      isInstant(entry[1]) && entry[1] <= at && entry[0].length <= emotionLimits.nameLength,
  );
  const few = kept.slice(0, emotionLimits.events);
  if (few.length < entries.length) {
    repairs.says(`${entries.length - few.length} cooldowns cannot be read: left out`);
  }
  return Object.fromEntries(few);
}
