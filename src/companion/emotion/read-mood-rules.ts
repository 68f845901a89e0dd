import { type Condition, comparators, emotionLimits, type MoodRule } from "./configuration.ts";
import { type Emotion, emotions, moods, voiceStates } from "./emotion.ts";
import { own, type Path, type Reading } from "./problems.ts";

const conditionKeys = [...emotions, "_voice_state", "_boredom", "_has_wounds", "_dominant"];

/** The mood rules of a file: `mood`, and `conditions` such as `{ joy: ">= 0.7", _has_wounds: true }`. */
export function readMoodRules(reading: Reading, value: unknown): readonly MoodRule[] {
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
