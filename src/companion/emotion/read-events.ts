import { type EmotionEvent, emotionLimits, severities, type WoundRule } from "./configuration.ts";
import { type Emotion, emotions } from "./emotion.ts";
import { own, type Path, type Reading, readRate, readSeconds } from "./problems.ts";

/** The events of a file, by name. */
export function readEvents(
  reading: Reading,
  value: unknown,
): Readonly<Record<string, EmotionEvent>> {
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
