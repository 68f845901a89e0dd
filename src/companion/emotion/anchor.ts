import { freezeDeep } from "../../core/json.ts";
import { boredomAt } from "./boredom.ts";
import type { EmotionConfiguration } from "./configuration.ts";
import { type Anchor, type EmotionState, eachLevel } from "./emotion.ts";
import { derivedMood, overrideAt } from "./feel.ts";
import { levelsAt, woundAt } from "./levels.ts";

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
export function anchorNow(config: EmotionConfiguration, state: EmotionState): Anchor {
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
