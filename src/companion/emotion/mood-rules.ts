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
  emotions,
  type Levels,
  type Mood,
  type VoiceState,
} from "./emotion.ts";
import { levelsAt, woundAt } from "./levels.ts";

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
