// What can change a feeling besides time. Each act anchors the state again at its present values.

import { invalid } from "../../core/errors.ts";
import { freezeDeep } from "../../core/json.ts";
import { own } from "../../core/shape.ts";
import type { EmotionConfiguration } from "./configuration.ts";
import {
  type Anchor,
  type EmotionState,
  eachLevel,
  lastInstant,
  moods,
  type VoiceState,
  voiceStates,
  type Wound,
} from "./emotion.ts";
import { derivedMood, notHeld, overrideAt, ruledMood } from "./feel.ts";
import { boredomAt, levelsAt, woundAt } from "./levels.ts";

/** A person who comes back after more than this makes it interesting again. Source: the seed. */
const personAwayMs = 60_000;

/**
 * How a companion that has never felt anything feels: all at rest, happy, a run up.
 *
 * @param at whole milliseconds, for one since 1970.
 */
export function startState(config: EmotionConfiguration, at: number): EmotionState {
  // This mood has not been shown yet, so nothing holds it.
  return anchored({ ...restingAnchor(config, at), moodSince: notHeld(at) });
}

interface AppliedEvent {
  readonly event: string;
  /**
   * Scales deltas and wound reduction, not the floors of a wound; from 0 to 10.
   * @default 1
   */
  readonly intensity?: number;
  /** Names the wound, should the event leave one. */
  readonly id: string;
}

const mostIntensity = 10;

export const longestOverrideSeconds = 3600;

/**
 * Something happened: levels move and stay within 0 to 1, wounds heal a little, and a severe event
 * may leave a new one. Counts as a stimulus. A severe event changes the mood at once.
 *
 * @returns `wound` if the event wounds: it did, or there are `max_wounds` already and only its deltas applied.
 * @throws ThroughlineError `THROUGHLINE_INVALID`: no such event (the message lists those there
 *   are), or an intensity out of bounds.
 */
export function applyEvent(
  config: EmotionConfiguration,
  state: EmotionState,
  { event: name, intensity = 1, id }: AppliedEvent,
) {
  const event = own(config.events, name);
  if (event === undefined) {
    const names = Object.keys(config.events).join(", ") || "none";
    throw invalid(`there is no emotion event of this name; the events are: ${names}`);
  }
  if (!(intensity >= 0 && intensity <= mostIntensity)) {
    throw invalid(`the intensity of an event must be a number from 0 to ${mostIntensity}`);
  }
  const now = anchorNow(config, state);
  const { at } = now;
  const levels = eachLevel((emotion) => {
    const delta = event.deltas[emotion] ?? 0;
    return Math.max(0, Math.min(1, now.levels[emotion] + delta * intensity));
  });
  // What heals of the wounds there are comes first: it may make room for the new one.
  const old = now.wounds.map((wound) => reduced(wound, event.woundReduction * intensity));
  const left = old.filter(hurts);
  const added = event.wound && { id, event: name, ...event.wound, createdAt: at };
  const isFull = left.length >= config.settings.maxWounds;
  const wound: "added" | "limit" | undefined =
    added && hurts(added) ? (isFull ? "limit" : "added") : undefined;
  const wounds = added && wound === "added" ? [...left, added] : left;
  const after = { ...now, levels, wounds, stimulusAt: at };
  const isSevere = event.severity === "severe";
  const rules = (anchor: Anchor, voiceState: VoiceState) =>
    ruledMood(config, { ...anchor, voiceState }, anchor.boredom, at);
  const mood = rules(after, "idle");
  const isCause = isSevere || mood !== rules(now, "idle");
  const breaks = isSevere && rules(after, now.voiceState) !== now.mood;
  const cause = isCause ? { event: name, at: now.at, mood } : now.cause;
  const moodSince = breaks ? notHeld(at) : now.moodSince;
  return { state: anchored({ ...after, cause, moodSince }), ...(wound && { wound }) };
}

/** The wound with less under every level. */
function reduced(wound: Wound, by: number): Wound {
  if (by === 0) return wound;
  const floors = Object.entries(wound.floors).map(([emotion, floor]) => {
    return [emotion, Math.max(0, floor - by)];
  });
  return { ...wound, floors: Object.fromEntries(floors) };
}

function hurts({ floors }: Wound): boolean {
  return Object.values(floors).some((floor) => floor > 0);
}

/**
 * A person wrote, spoke or was seen. Counts as a stimulus; after more than 60 s without one, boredom
 * is over.
 */
export function personActs(config: EmotionConfiguration, state: EmotionState): EmotionState {
  const { at } = state;
  return anchorHere(config, state, {
    personAt: at,
    stimulusAt: at,
    ...(at - state.anchor.personAt > personAwayMs && { boredom: 0 }),
  });
}

/** @throws ThroughlineError `THROUGHLINE_INVALID`: no voice state; the message lists them. */
export function setVoice(
  config: EmotionConfiguration,
  state: EmotionState,
  voiceState: VoiceState,
): EmotionState {
  if (!voiceStates.includes(voiceState)) {
    throw invalid(`the voice states are: ${voiceStates.join(", ")}`);
  }
  if (voiceState === state.anchor.voiceState) return state;
  return anchorHere(config, state, { voiceState });
}

/**
 * Shows a mood whatever is felt. What is felt goes on underneath.
 *
 * @param seconds how long, above 0 and at most 3600, kept to the millisecond.
 * @throws ThroughlineError `THROUGHLINE_INVALID`: no such mood (the message lists them), or no such
 *   time.
 */
export function overrideMood(
  config: EmotionConfiguration,
  state: EmotionState,
  mood: string,
  seconds = 10,
): EmotionState {
  const found = moods.find((known) => known === mood);
  if (found === undefined) throw invalid(`the moods are: ${moods.join(", ")}`);
  if (!(seconds > 0 && seconds <= longestOverrideSeconds)) {
    throw invalid(`a mood lasts more than 0 and at most ${longestOverrideSeconds} seconds`);
  }
  const until = Math.min(lastInstant, state.at + Math.round(seconds * 1000));
  return anchorHere(config, state, { override: { mood: found, until } });
}

/** The run goes down. Until the next run is up, boredom only falls and the voice is idle. */
export function suspend(config: EmotionConfiguration, state: EmotionState): EmotionState {
  return anchorHere(config, state, { isUp: false, voiceState: "idle" });
}

export function resume(config: EmotionConfiguration, state: EmotionState): EmotionState {
  return anchorHere(config, state, { isUp: true, voiceState: "idle", stimulusAt: state.at });
}

/** Every level back to its baseline, or to the floor of a wound. All else stays as it is. */
export function resetLevels(config: EmotionConfiguration, state: EmotionState): EmotionState {
  return anchorHere(config, state, {
    levels: eachLevel((emotion) => config.emotions[emotion].baseline),
  });
}

/** The state anchored where it is, with what just happened changed in it. */
export function anchorHere(
  config: EmotionConfiguration,
  state: EmotionState,
  change: Partial<Anchor> = {},
): EmotionState {
  return anchored({ ...anchorNow(config, state), ...change });
}

export function anchored(anchor: Anchor): EmotionState {
  return freezeDeep({ at: anchor.at, anchor });
}

/** All that is felt at `state.at`, as an anchor of its own. */
function anchorNow(config: EmotionConfiguration, state: EmotionState): Anchor {
  const { at, anchor } = state;
  const { mood, since: moodSince } = derivedMood(config, state);
  return {
    ...anchor,
    at,
    levels: levelsAt(config, anchor, at),
    boredom: boredomAt(config, anchor, at),
    wounds: anchor.wounds.flatMap((wound) => woundAt(wound, anchor.at, at) ?? []),
    mood,
    moodSince,
    override: overrideAt(anchor, at),
  };
}

export function restingAnchor(config: EmotionConfiguration, at: number): Anchor {
  return {
    at,
    levels: eachLevel((emotion) => config.emotions[emotion].baseline),
    boredom: 0,
    wounds: [],
    isUp: true,
    voiceState: "idle",
    stimulusAt: at,
    personAt: at,
    mood: "happy",
    moodSince: at,
    override: null,
    cause: null,
    heardAt: {},
  };
}
