// A configuration in the schema of `emotions.yaml`, as the acts that several processes share keep it.
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../core/json.ts";
import type { Condition, EmotionConfiguration, EmotionEvent } from "./configuration.ts";
import { type Emotion, emotions } from "./emotion.ts";
import { readEmotionConfiguration } from "./read-configuration.ts";

/** The whole configuration in the schema of `emotions.yaml`. `undefined`: that schema cannot say it. */
export function writtenConfiguration(config: EmotionConfiguration): JsonObject | undefined {
  const { settings, events, triggers } = config;
  const { transcriptCooldownMs, maxWounds, publishThreshold } = settings;
  const whole = {
    ...writtenRules(config),
    events: Object.fromEntries(
      Object.entries(events).map(([name, event]) => [name, eventOf(event)]),
    ),
    transcript_triggers: triggers.map(({ event, patterns, capsOnly, directed }) => {
      return { event, patterns, caps_only: capsOnly, directed };
    }),
    settings: {
      hysteresis: settings.hysteresisMs / 1_000,
      transcript_cooldown: transcriptCooldownMs / 1_000,
      max_wounds: maxWounds,
      mqtt_publish_threshold: publishThreshold,
    },
  };
  const plain = JSON.parse(JSON.stringify(whole)) as JsonObject;
  return isDeepStrictEqual(readWrittenConfiguration(plain), config) ? plain : undefined;
}

/** Reads what `writtenConfiguration` made. */
export function readWrittenConfiguration(stored: JsonObject): EmotionConfiguration | undefined {
  const found = readEmotionConfiguration(stored);
  return "configuration" in found ? found.configuration : undefined;
}

function eventOf({ severity, deltas, woundReduction, wound }: EmotionEvent) {
  return {
    severity,
    deltas,
    wound_reduction: woundReduction,
    wound: wound && {
      floors: wound.floors,
      duration: wound.durationMs / 1_000,
      heal_rate: wound.healPerSecond,
    },
  };
}

function writtenRules({ emotions: rules, moodRules, boredom }: EmotionConfiguration) {
  const rule = (emotion: Emotion) => ({
    baseline: rules[emotion].baseline,
    decay_rate: rules[emotion].decayPerSecond,
  });
  return {
    emotions: Object.fromEntries(emotions.map((emotion) => [emotion, rule(emotion)])),
    derived_mood_rules: moodRules.map(({ mood, conditions }) => ({
      mood,
      conditions: Object.fromEntries(conditions.map(writtenCondition)),
    })),
    boredom: {
      accumulate_rate: boredom.growPerSecond,
      decay_rate: boredom.decayPerSecond,
      joy_threshold: boredom.joyBelow,
      negative_threshold: boredom.negativesBelow,
      neglect_after: boredom.neglectAfterMs === null ? null : boredom.neglectAfterMs / 1_000,
    },
  };
}

function writtenCondition(condition: Condition): [string, string | boolean] {
  if (condition.kind === "voice") return ["_voice_state", condition.value];
  if (condition.kind === "wounds") return ["_has_wounds", condition.value];
  if (condition.kind === "dominant") return ["_dominant", condition.value];
  const { what, comparator, value } = condition;
  return [what === "boredom" ? "_boredom" : what, `${comparator} ${value}`];
}
