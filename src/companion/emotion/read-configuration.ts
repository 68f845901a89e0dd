import {
  type BoredomRule,
  type Condition,
  comparators,
  type EmotionConfiguration,
  type EmotionEvent,
  type EmotionRule,
  type EmotionSettings,
  emotionLimits,
  type MoodRule,
  severities,
  type Trigger,
  type WoundRule,
} from "./configuration.ts";
import { type Emotion, emotions, freezeDeep, moods, voiceStates } from "./emotion.ts";
import { own, type Path, type Problem, Reading, readRate, readSeconds } from "./problems.ts";
import { wordsOf } from "./words.ts";

type ReadConfiguration =
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

const triggerKeys = ["event", "patterns", "caps_only", "directed"];

/** The triggers of a file; each names one of these events. */
function readTriggers(reading: Reading, value: unknown, events: readonly string[]): Trigger[] {
  const top = ["transcript_triggers"];
  let left: number = emotionLimits.patterns;
  return reading.list(value, top, emotionLimits.triggers).map((item, index) => {
    const path = [...top, index];
    const trigger = reading.section(item, path, triggerKeys);
    const listed = reading.list(own(trigger, "patterns"), [...path, "patterns"], left);
    left -= listed.length;
    return {
      event: readEventName(reading, own(trigger, "event"), [...path, "event"], events),
      patterns: listed.map((pattern, at) =>
        readPattern(reading, pattern, [...path, "patterns", at]),
      ),
      capsOnly: reading.flag(trigger, "caps_only", path),
      directed: reading.flag(trigger, "directed", path),
    };
  });
}

function readEventName(reading: Reading, value: unknown, path: Path, events: readonly string[]) {
  if (events.length > 0) return reading.word(value, path, events) ?? "";
  reading.says(path, "must be one of the events, and there are none");
  return "";
}

function readPattern(reading: Reading, value: unknown, path: Path): string {
  const { patternLength, patternWords } = emotionLimits;
  if (typeof value === "string" && value.length <= patternLength) {
    const count = wordsOf(value).length;
    if (count >= 1 && count <= patternWords) return value;
  }
  reading.says(path, `must be text of 1 to ${patternWords} words, at most ${patternLength} long`);
  return "";
}

/** The events of a file, by name. */
function readEvents(reading: Reading, value: unknown): Readonly<Record<string, EmotionEvent>> {
  const entries = reading.entries(value, ["events"], emotionLimits.events);
  return Object.fromEntries(
    entries.map(([name, event]) => [name, readEvent(reading, name, event)]),
  );
}

const eventKeys = ["severity", "deltas", "wound_reduction", "wound"];

function readEvent(reading: Reading, name: string, value: unknown): EmotionEvent {
  const path = ["events", name];
  if (name === "" || name.length > emotionLimits.nameLength) {
    reading.says(path, `must have a name of 1 to ${emotionLimits.nameLength} characters`);
  }
  const event = reading.section(value, path, eventKeys);
  const named = own(event, "severity") ?? "mild";
  const severity = reading.word(named, [...path, "severity"], severities) ?? "mild";
  const most = emotionLimits.delta;
  const wound = own(event, "wound");
  if (wound !== undefined && severity !== "severe") {
    reading.says([...path, "wound"], "belongs to severe events only");
  }
  return {
    severity,
    deltas: readByEmotion(reading, own(event, "deltas"), [...path, "deltas"], -most, most),
    woundReduction: reading.number(event, "wound_reduction", path, {
      from: 0,
      to: 1,
      otherwise: 0,
    }),
    ...(wound !== undefined && { wound: readWound(reading, wound, [...path, "wound"]) }),
  };
}

function readWound(reading: Reading, value: unknown, path: Path): WoundRule {
  const wound = reading.section(value, path, ["floors", "duration", "heal_rate"]);
  return {
    floors: readByEmotion(reading, own(wound, "floors"), [...path, "floors"], 0, 1),
    durationMs: readSeconds(reading, wound, "duration", path, 300),
    healPerSecond: readRate(reading, wound, "heal_rate", path, 0.001),
  };
}

function readByEmotion(reading: Reading, value: unknown, path: Path, from: number, to: number) {
  const section = reading.section(value, path, emotions);
  const numbers: Partial<Record<Emotion, number>> = {};
  for (const emotion of emotions) {
    if (Object.hasOwn(section, emotion)) {
      numbers[emotion] = reading.number(section, emotion, path, { from, to, otherwise: 0 });
    }
  }
  return numbers;
}

const conditionKeys = [...emotions, "_voice_state", "_boredom", "_has_wounds", "_dominant"];

/** The mood rules of a file: `mood`, and `conditions` such as `{ joy: ">= 0.7", _has_wounds: true }`. */
function readMoodRules(reading: Reading, value: unknown): readonly MoodRule[] {
  const top = ["derived_mood_rules"];
  return reading.list(value, top, emotionLimits.rules).map((item, index) => {
    const path = [...top, index];
    const rule = reading.section(item, path, ["mood", "conditions"]);
    // A rule for what is left over may be written as `conditions:` and nothing behind it.
    const conditions = own(rule, "conditions") ?? undefined;
    return {
      mood: reading.word(own(rule, "mood"), [...path, "mood"], moods) ?? "calm",
      conditions: readConditions(reading, conditions, [...path, "conditions"]),
    };
  });
}

function readConditions(reading: Reading, value: unknown, path: Path): readonly Condition[] {
  const entries = reading.entries(value, path, emotionLimits.conditions);
  const read = entries.map(([key, wanted]) => readCondition(reading, key, wanted, [...path, key]));
  return read.filter((condition) => condition !== undefined);
}

function readCondition(
  reading: Reading,
  key: string,
  wanted: unknown,
  path: Path,
): Condition | undefined {
  if (key === "_voice_state") {
    const value = reading.word(wanted, path, voiceStates);
    return value && { kind: "voice", value };
  }
  if (key === "_dominant") {
    const value = reading.word(wanted, path, emotions);
    return value && { kind: "dominant", value };
  }
  if (key === "_has_wounds") {
    if (typeof wanted === "boolean") return { kind: "wounds", value: wanted };
    reading.says(path, "must be true or false");
    return undefined;
  }
  const what = emotions.find((emotion) => emotion === key);
  if (what !== undefined) return readComparison(reading, what, wanted, path);
  if (key === "_boredom") return readComparison(reading, "boredom", wanted, path);
  reading.says(path, `is no condition; those are ${conditionKeys.join(", ")}`);
  return undefined;
}

const written = /^(>=|<=|==|>|<)?\s*(\d{1,20}(?:\.\d{1,20})?|\.\d{1,20})$/;

function readComparison(
  reading: Reading,
  what: Emotion | "boredom",
  wanted: unknown,
  path: Path,
): Condition | undefined {
  if (typeof wanted === "number" && Number.isFinite(wanted) && wanted >= 0) {
    return { kind: "compare", what, comparator: ">=", value: wanted + 0 };
  }
  const found = typeof wanted === "string" ? written.exec(wanted.trim()) : null;
  if (found === null) {
    reading.says(path, 'must be a number from 0, or a comparison such as ">= 0.7"');
    return undefined;
  }
  const comparator = comparators.find((name) => name === found[1]) ?? ">=";
  return { kind: "compare", what, comparator, value: Number(found[2]) };
}
