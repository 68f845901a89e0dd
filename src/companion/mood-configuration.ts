// The configurations that the moods of the past followed, as their log keeps them.
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../core/json.ts";
import type { LogRecord } from "../core/storage/log-store.ts";
import type { Condition, EmotionConfiguration, EmotionEvent } from "./emotion/configuration.ts";
import { type Emotion, emotions } from "./emotion/emotion.ts";
import { readEmotionConfiguration } from "./emotion/read-configuration.ts";

const kind = "configuration";
const known = new WeakMap<EmotionConfiguration, LogRecord | undefined>();

/**
 * What of a configuration a feeling runs by from one event to the next: not the events, nor the words.
 * In the schema of `emotions.yaml`, so that it is read with the same care; some 1.3 KB. Its id is made of
 * what it says, so that a log has it once.
 *
 * @returns `undefined`: that schema cannot say it, as two conditions on one level.
 */
export function configurationRecord(config: EmotionConfiguration): LogRecord | undefined {
  if (!known.has(config)) known.set(config, recordOf(config));
  return known.get(config);
}

export function isConfigurationId(id: unknown): id is string {
  return typeof id === "string" && /^c_[0-9a-f]{32}$/.test(id);
}

/** Reads one again. @returns `undefined`: it is none, or a damaged one. */
export function readConfigurationRecord(
  record: JsonObject | undefined,
): EmotionConfiguration | undefined {
  if (record?.["kind"] !== kind) return undefined;
  const read = readEmotionConfiguration(record["configuration"]);
  return "configuration" in read ? read.configuration : undefined;
}

function recordOf(config: EmotionConfiguration): LogRecord | undefined {
  const configuration = written(config);
  const digest = createHash("sha256").update(JSON.stringify(configuration)).digest("hex");
  const record = { id: `c_${digest.slice(0, 32)}`, kind, configuration };
  const read = readConfigurationRecord(record);
  return read && isDeepStrictEqual(runsBy(read), runsBy(config)) ? record : undefined;
}

const runsBy = ({ emotions, moodRules, boredom, settings }: EmotionConfiguration) => ({
  emotions,
  moodRules,
  boredom,
  hysteresisMs: settings.hysteresisMs,
});

/** The whole configuration in the schema of `emotions.yaml`. `undefined`: that schema cannot say it. */
export function writtenConfiguration(config: EmotionConfiguration): JsonObject | undefined {
  const { settings, events, triggers } = config;
  const { transcriptCooldownMs, maxWounds, publishThreshold } = settings;
  const whole = {
    ...written(config),
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

function written({ emotions: rules, moodRules, boredom, settings }: EmotionConfiguration) {
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
    settings: { hysteresis: settings.hysteresisMs / 1_000 },
  };
}

function writtenCondition(condition: Condition): [string, string | boolean] {
  if (condition.kind === "voice") return ["_voice_state", condition.value];
  if (condition.kind === "wounds") return ["_has_wounds", condition.value];
  if (condition.kind === "dominant") return ["_dominant", condition.value];
  const { what, comparator, value } = condition;
  return [what === "boredom" ? "_boredom" : what, `${comparator} ${value}`];
}
