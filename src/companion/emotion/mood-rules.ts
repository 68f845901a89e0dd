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
  // Plain loops: this is what all searching for moods comes down to.
  const highest = dominant(senses.levels);
  for (const rule of rules) {
    let matches = true;
    for (const condition of rule.conditions) {
      if (holds(condition, senses, highest)) continue;
      matches = false;
      break;
    }
    if (matches) return rule;
  }
  return undefined;
}

function holds(condition: Condition, senses: Senses, highest: Emotion): boolean {
  switch (condition.kind) {
    case "voice":
      return senses.voiceState === condition.value;
    case "wounds":
      return senses.hasWounds === condition.value;
    case "dominant":
      return highest === condition.value;
    case "compare":
      return compares(
        condition,
        condition.what === "boredom" ? senses.boredom : senses.levels[condition.what],
      );
  }
}

/** The emotion with the highest level; of equal ones the first in the order of `emotions`. */
function dominant(levels: Levels): Emotion {
  let found: Emotion = "joy";
  for (const emotion of emotions) if (levels[emotion] > levels[found]) found = emotion;
  return found;
}

function compares({ comparator, value }: Comparison, actual: number): boolean {
  switch (comparator) {
    case ">=":
      return actual >= value;
    case "<=":
      return actual <= value;
    case ">":
      return actual > value;
    case "<":
      return actual < value;
    case "==":
      return Math.abs(actual - value) < equalityTolerance;
  }
}
