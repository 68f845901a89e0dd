import { emotionLimits, type Trigger } from "./configuration.ts";
import { own, type Path, type Reading } from "./problems.ts";
import { wordsOf } from "./words.ts";

const triggerKeys = ["event", "patterns", "caps_only", "directed"];

/** The triggers of a file; each names one of these events. */
export function readTriggers(
  reading: Reading,
  value: unknown,
  events: readonly string[],
): Trigger[] {
  const top = ["transcript_triggers"];
  let left: number = emotionLimits.patterns;
  return reading.list(value, top, emotionLimits.triggers).map((item, index) => {
    const path = [...top, index];
    const trigger = reading.section(item, path, triggerKeys);
    const listed = reading.list(own(trigger, "patterns"), [...path, "patterns"], left);
    left -= listed.length;
    return {
      event: readEvent(reading, own(trigger, "event"), [...path, "event"], events),
      patterns: listed.map((pattern, at) =>
        readPattern(reading, pattern, [...path, "patterns", at]),
      ),
      capsOnly: reading.flag(trigger, "caps_only", path),
      directed: reading.flag(trigger, "directed", path),
    };
  });
}

function readEvent(reading: Reading, value: unknown, path: Path, events: readonly string[]) {
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
