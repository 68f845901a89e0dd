import {
  type BoredomRule,
  type EmotionConfiguration,
  type EmotionRule,
  type EmotionSettings,
  emotionLimits,
} from "./configuration.ts";
import { type Emotion, emotions } from "./emotion.ts";
import { freezeDeep } from "./freeze.ts";
import { own, type Problem, Reading, readRate, readSeconds } from "./problems.ts";
import { readEvents } from "./read-events.ts";
import { readMoodRules } from "./read-mood-rules.ts";
import { readTriggers } from "./read-triggers.ts";

export type ReadConfiguration =
  | { readonly configuration: EmotionConfiguration }
  | { readonly problems: readonly Problem[] };

const sections = [
  "emotions",
  "events",
  "derived_mood_rules",
  "boredom",
  "transcript_triggers",
  "settings",
];

/**
 * Reads a configuration from plain data in the schema of the originals' `emotions.yaml`, such as
 * `builtInEmotionsFile`. Seconds are kept to the millisecond.
 *
 * A file stands for itself: it replaces the built-in configuration whole, and what it leaves out
 * has the defaults of that schema: baseline 0, decay_rate 0.03, duration 300, heal_rate 0.001, no
 * events, rules or triggers, and the built-in numbers for boredom and settings. Nothing is guessed:
 * one thing wrong, an unknown key among them, and the answer is a list of problems, at most 50.
 */
export function readEmotionConfiguration(value: unknown): ReadConfiguration {
  const reading = new Reading();
  if (value === undefined || value === null) {
    return { problems: [{ path: [], says: "is empty; leave the file out for the built-in one" }] };
  }
  const file = reading.section(value, [], sections);
  const events = readEvents(reading, own(file, "events"));
  const configuration: EmotionConfiguration = {
    emotions: readEmotions(reading, own(file, "emotions")),
    events,
    moodRules: readMoodRules(reading, own(file, "derived_mood_rules")),
    boredom: readBoredom(reading, own(file, "boredom")),
    triggers: readTriggers(reading, own(file, "transcript_triggers"), Object.keys(events)),
    settings: readSettings(reading, own(file, "settings")),
  };
  const { problems } = reading;
  return problems.length > 0 ? { problems } : { configuration: freezeDeep(configuration) };
}

function readEmotions(reading: Reading, value: unknown): Readonly<Record<Emotion, EmotionRule>> {
  const section = reading.section(value, ["emotions"], emotions);
  const read = (emotion: Emotion): EmotionRule => {
    const path = ["emotions", emotion];
    const rule = reading.section(own(section, emotion), path, ["baseline", "decay_rate"]);
    return {
      baseline: reading.number(rule, "baseline", path, { from: 0, to: 1, otherwise: 0 }),
      decayPerSecond: readRate(reading, rule, "decay_rate", path, 0.03),
    };
  };
  return {
    joy: read("joy"),
    sadness: read("sadness"),
    anger: read("anger"),
    fear: read("fear"),
    disgust: read("disgust"),
  };
}

const boredomKeys = [
  "accumulate_rate",
  "decay_rate",
  "joy_threshold",
  "negative_threshold",
  "neglect_after",
];

function readBoredom(reading: Reading, value: unknown): BoredomRule {
  const path = ["boredom"];
  const section = reading.section(value, path, boredomKeys);
  const threshold = (key: string, otherwise: number) =>
    reading.number(section, key, path, { from: 0, to: 1_000, otherwise });
  return {
    growPerSecond: readRate(reading, section, "accumulate_rate", path, 0.008),
    decayPerSecond: readRate(reading, section, "decay_rate", path, 0.05),
    joyBelow: threshold("joy_threshold", 0.15),
    negativesBelow: threshold("negative_threshold", 0.1),
    neglectAfterMs:
      own(section, "neglect_after") === null
        ? null
        : readSeconds(reading, section, "neglect_after", path, 300),
  };
}

const settingKeys = ["hysteresis", "transcript_cooldown", "max_wounds", "mqtt_publish_threshold"];

function readSettings(reading: Reading, value: unknown): EmotionSettings {
  const path = ["settings"];
  const section = reading.section(value, path, settingKeys);
  const most = { from: 0, to: emotionLimits.wounds, otherwise: 5 };
  const maxWounds = reading.number(section, "max_wounds", path, most);
  if (!Number.isInteger(maxWounds)) reading.says([...path, "max_wounds"], "must be whole");
  const change = { from: 0, to: 1, otherwise: 0.05 };
  return {
    hysteresisMs: readSeconds(reading, section, "hysteresis", path, 1),
    transcriptCooldownMs: readSeconds(reading, section, "transcript_cooldown", path, 5),
    maxWounds,
    publishThreshold: reading.number(section, "mqtt_publish_threshold", path, change),
  };
}
