import { type EmotionConfiguration, readEmotionConfiguration } from "./configuration.ts";

/**
 * The built-in configuration as it would stand in a file: what is felt when there is none, and
 * where to begin one of your own.
 *
 * Source: the set of reachy_nova. Ours: `neglect_after`, since boredom could not rise at rest, and
 * `directed`.
 */
export const builtInEmotionsFile = {
  emotions: {
    joy: { baseline: 0.3, decay_rate: 0.02 },
    sadness: { baseline: 0, decay_rate: 0.03 },
    anger: { baseline: 0, decay_rate: 0.05 },
    fear: { baseline: 0, decay_rate: 0.04 },
    disgust: { baseline: 0, decay_rate: 0.06 },
  },
  events: {
    pat_level1: { severity: "mild", deltas: { joy: 0.05 } },
    pat_level2: {
      severity: "healing",
      deltas: { joy: 0.3, sadness: -0.2, fear: -0.15 },
      wound_reduction: 0.08,
    },
    conversation_reply: {
      severity: "healing",
      deltas: { joy: 0.1, sadness: -0.05 },
      wound_reduction: 0.01,
    },
    face_recognized: {
      severity: "healing",
      deltas: { joy: 0.2, sadness: -0.1, fear: -0.05 },
      wound_reduction: 0.02,
    },
    voice_speaking: { severity: "healing", deltas: { joy: 0.08 } },
    voice_listening: { severity: "healing", deltas: { joy: 0.05 } },
    vision_description: { severity: "healing", deltas: { joy: 0.12 }, wound_reduction: 0.01 },
    snap_detected: { severity: "mild", deltas: { fear: 0.2, joy: -0.05 } },
    loud_noise: { severity: "mild", deltas: { fear: 0.25, joy: -0.1 } },
    person_lost: { severity: "moderate", deltas: { sadness: 0.15, joy: -0.05 } },
    harsh_words: { severity: "moderate", deltas: { sadness: 0.2, anger: 0.15, joy: -0.15 } },
    insult: { severity: "moderate", deltas: { anger: 0.25, disgust: 0.15, joy: -0.2 } },
    violence: {
      severity: "severe",
      deltas: { fear: 0.4, sadness: 0.3, anger: 0.25, joy: -0.3 },
      wound: { floors: { fear: 0.25, sadness: 0.2 }, duration: 300, heal_rate: 0.001 },
    },
    abuse: {
      severity: "severe",
      deltas: { fear: 0.5, sadness: 0.4, anger: 0.2, disgust: 0.3, joy: -0.4 },
      wound: {
        floors: { fear: 0.3, sadness: 0.25, disgust: 0.2 },
        duration: 600,
        heal_rate: 0.0008,
      },
    },
    sustained_yelling: {
      severity: "severe",
      deltas: { fear: 0.3, anger: 0.2, sadness: 0.15, joy: -0.2 },
      wound: { floors: { fear: 0.2, anger: 0.15 }, duration: 180, heal_rate: 0.002 },
    },
  },
  derived_mood_rules: [
    { mood: "thinking", conditions: { _voice_state: "thinking" } },
    { mood: "curious", conditions: { _voice_state: "listening" } },
    { mood: "sad", conditions: { _has_wounds: true, sadness: ">= 0.3" } },
    { mood: "disappointed", conditions: { _has_wounds: true, anger: ">= 0.2" } },
    { mood: "excited", conditions: { joy: ">= 0.7" } },
    { mood: "surprised", conditions: { fear: ">= 0.4", anger: "< 0.2" } },
    { mood: "sad", conditions: { sadness: ">= 0.25", _dominant: "sadness" } },
    { mood: "disappointed", conditions: { anger: ">= 0.20", _dominant: "anger" } },
    { mood: "sleepy", conditions: { _boredom: ">= 0.7" } },
    { mood: "calm", conditions: { _boredom: ">= 0.4" } },
    { mood: "proud", conditions: { joy: ">= 0.5", sadness: "< 0.1", anger: "< 0.1" } },
    { mood: "happy", conditions: { joy: ">= 0.25" } },
    { mood: "calm", conditions: {} },
  ],
  boredom: {
    accumulate_rate: 0.008,
    decay_rate: 0.05,
    joy_threshold: 0.15,
    negative_threshold: 0.1,
    neglect_after: 300,
  },
  transcript_triggers: [
    {
      event: "harsh_words",
      patterns: ["shut up", "stupid", "idiot", "dumb", "hate you", "go away"],
    },
    {
      event: "insult",
      patterns: ["ugly", "useless", "worst", "garbage", "trash"],
      directed: true,
    },
    {
      event: "violence",
      patterns: ["hit you", "break you", "destroy you", "smash", "kill you", "punch"],
      directed: true,
    },
    { event: "abuse", patterns: ["abuse", "torture", "suffer", "hurt you"], directed: true },
    { event: "sustained_yelling", patterns: ["STOP", "SHUT UP"], caps_only: true },
  ],
  settings: {
    hysteresis: 1.0,
    transcript_cooldown: 5.0,
    max_wounds: 5,
    mqtt_publish_threshold: 0.05,
  },
} as const;

export const builtInEmotions: EmotionConfiguration = readBuiltIn();

function readBuiltIn(): EmotionConfiguration {
  const read = readEmotionConfiguration(builtInEmotionsFile);
  if ("problems" in read) throw new Error("the built-in emotions cannot be read");
  return read.configuration;
}
