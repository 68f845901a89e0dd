// The schema of the originals' `emotions.yaml`: every name, unit, bound and default, once.
import { freezeDeep } from "../../core/json.ts";
import { having } from "../../core/options.ts";
import {
  checked,
  each,
  flag,
  list,
  nullable,
  number,
  object,
  optional,
  Place,
  type Problem,
  type Read,
  record,
  type Shape,
  section,
  whole,
  word,
} from "../../core/shape.ts";
import {
  type Emotion,
  emotionLimits,
  emotions,
  moods,
  type VoiceState,
  voiceStates,
} from "./emotion.ts";
import { wordsOf } from "./words.ts";

/** From the least to the gravest. */
export const severities = ["healing", "mild", "moderate", "severe"] as const;

export type Condition =
  | Comparison
  | { readonly kind: "voice"; readonly value: VoiceState }
  | { readonly kind: "wounds"; readonly value: boolean }
  | { readonly kind: "dominant"; readonly value: Emotion };

const comparators = [">=", "<=", "==", ">", "<"] as const;

export interface Comparison {
  readonly kind: "compare";
  readonly what: Emotion | "boredom";
  /** `==` holds within `equalityTolerance`. */
  readonly comparator: (typeof comparators)[number];
  readonly value: number;
}

/** Source: the original compared floats that were moved frame by frame. */
export const equalityTolerance = 0.001;

const seconds = (otherwise: number) => number(0, emotionLimits.seconds, otherwise, 1000);
const rate = (otherwise: number) => number(0, emotionLimits.perSecond, otherwise);
const byEmotion = (shape: Shape<number>) =>
  each(emotions, optional(shape)) as Shape<Readonly<Partial<Record<Emotion, number>>>>;

const emotionRule = object({
  /** Where the level rests, 0 to 1. */
  baseline: number(0, 1, 0),
  /** How fast it goes there from either side. */
  decayPerSecond: ["decay_rate", rate(0.03)],
});

const wound = object({
  floors: byEmotion(number(0, 1, 0)),
  durationMs: ["duration", seconds(300)],
  healPerSecond: ["heal_rate", rate(0.001)],
});

const event = checked(
  object({
    severity: word(severities, "mild"),
    deltas: byEmotion(number(-emotionLimits.delta, emotionLimits.delta, 0)),
    /** Taken off every floor of every wound. */
    woundReduction: ["wound_reduction", number(0, 1, 0)],
    wound: optional(wound),
  }),
  ({ severity, wound: left }, at) => {
    const isLeft = left !== undefined && severity !== "severe";
    if (isLeft) at.in("wound").says("belongs to severe events only");
    const name = String(at.path.at(-1));
    const isNamed = name !== "" && name.length <= emotionLimits.nameLength;
    if (!isNamed) at.says(`must have a name of 1 to ${emotionLimits.nameLength} characters`);
  },
);

const written = /^(>=|<=|==|>|<)?\s*(\d{1,20}(?:\.\d{1,20})?|\.\d{1,20})$/;

/** What a key of `conditions` compares with, as in `{ joy: ">= 0.7", _has_wounds: true }`. */
const conditions: Readonly<Record<string, (wanted: unknown, at: Place) => Condition | undefined>> =
  {
    ...Object.fromEntries(
      emotions.map((what) => [what, (wanted, at) => comparison(what, wanted, at)]),
    ),
    _voice_state: (wanted, at) => ({ kind: "voice", value: word(voiceStates).read(wanted, at) }),
    _boredom: (wanted, at) => comparison("boredom", wanted, at),
    _has_wounds: (wanted, at) => ({ kind: "wounds", value: flag().read(wanted, at) }),
    _dominant: (wanted, at) => ({ kind: "dominant", value: word(emotions).read(wanted, at) }),
  };

function comparison(what: Emotion | "boredom", wanted: unknown, at: Place): Condition {
  if (typeof wanted === "number" && Number.isFinite(wanted) && wanted >= 0) {
    return { kind: "compare", what, comparator: ">=", value: wanted + 0 };
  }
  const found = typeof wanted === "string" ? written.exec(wanted.trim()) : null;
  if (found === null) at.says('must be a number from 0, or a comparison such as ">= 0.7"');
  const comparator = comparators.find((name) => name === found?.[1]) ?? ">=";
  return { kind: "compare", what, comparator, value: Number(found?.[2] ?? 0) };
}

/** A rule for what is left over may be written as `conditions:` and nothing behind it. */
const ruleConditions: Shape<readonly Condition[]> = {
  read(value, at) {
    const entries = Object.entries(section(value ?? undefined, at));
    if (entries.length > emotionLimits.conditions) {
      at.says(`has ${entries.length} entries; ${emotionLimits.conditions} are the most`);
    }
    return entries.flatMap(([key, wanted]) => {
      const read = Object.hasOwn(conditions, key) ? conditions[key] : undefined;
      if (read === undefined) {
        at.in(key).says(`is no condition; those are ${Object.keys(conditions).join(", ")}`);
      }
      return read?.(wanted, at.in(key)) ?? [];
    });
  },
  write: () => undefined, // a configuration is only read
};

const pattern: Shape<string> = {
  read(value, at) {
    const { patternLength, patternWords } = emotionLimits;
    const text = typeof value === "string" && value.length <= patternLength ? value : "";
    const count = wordsOf(text).length;
    if (count >= 1 && count <= patternWords) return text;
    at.says(`must be text of 1 to ${patternWords} words, at most ${patternLength} long`);
    return "";
  },
  write: (value) => value,
};

const trigger = object({
  // A name in `events`. YAML reads a name of digits as a number. "" is no event, so a list or a mapping is refused below.
  event: {
    read: (value: unknown) => (typeof value === "object" ? "" : `${value}`),
    write: (value: string) => value,
  },
  patterns: list(pattern, emotionLimits.patterns),
  /** The words must be written exactly as in the pattern. */
  capsOnly: ["caps_only", flag(false)],
  /** "you" must stand within three words, or in the pattern. */
  directed: flag(false),
});

const rule = object({
  mood: word(moods),
  /** All must hold; an empty list always does. */
  conditions: ruleConditions,
});

const boredom = object({
  growPerSecond: ["accumulate_rate", rate(0.008)],
  decayPerSecond: ["decay_rate", rate(0.05)],
  /** Boredom grows while joy is below this, or nothing happened for `neglectAfterMs`, and ... */
  joyBelow: ["joy_threshold", number(0, 1_000, 0.15)],
  /** ... every other emotion is below this. */
  negativesBelow: ["negative_threshold", number(0, 1_000, 0.1)],
  /** `null`: never. */
  neglectAfterMs: ["neglect_after", nullable(seconds(300))],
});

const settings = object({
  /** A mood lasts at least this long. */
  hysteresisMs: ["hysteresis", seconds(1)],
  /** The same event is not caused by words again for this long. */
  transcriptCooldownMs: ["transcript_cooldown", seconds(5)],
  maxWounds: ["max_wounds", whole(0, emotionLimits.wounds, 5)],
  /** Watchers are notified when a level or boredom has moved by this much. */
  publishThreshold: ["mqtt_publish_threshold", number(0, 1, 0.05)],
});

const schema = checked(
  object({
    emotions: each(emotions, emotionRule),
    events: record(event, emotionLimits.events),
    /** The first that matches says the mood; none: calm. */
    moodRules: ["derived_mood_rules", list(rule, emotionLimits.rules)],
    boredom,
    triggers: ["transcript_triggers", list(trigger, emotionLimits.triggers)],
    settings,
  }),
  ({ events, triggers }, at) => {
    const names = Object.keys(events);
    const those = names.length > 0 ? names.join(", ") : "the events, and there are none";
    const count = triggers.reduce((sum, { patterns }) => sum + patterns.length, 0);
    const place = at.in("transcript_triggers");
    if (count > emotionLimits.patterns)
      place.says(`has ${count} patterns; ${emotionLimits.patterns} are the most`);
    for (const [index, { event: name }] of triggers.entries()) {
      if (!names.includes(name)) place.in(index).in("event").says(`must be one of ${those}`);
    }
  },
);

/** Everything that can be set about emotions, as it is in memory. */
export type EmotionConfiguration = Read<typeof schema>;

export type MoodRule = EmotionConfiguration["moodRules"][number];
export type Trigger = EmotionConfiguration["triggers"][number];

/**
 * Reads a configuration from plain data in the schema of the originals' `emotions.yaml`, such as
 * `builtInEmotionsFile`. Seconds are kept to the millisecond.
 *
 * A file stands for itself: it replaces the built-in configuration whole, and what it leaves out
 * has the defaults above: no events, rules or triggers. Nothing is guessed: one thing wrong, an
 * unknown key among them, and the answer is a list of problems, at most 50.
 */
export function readEmotionConfiguration(
  value: unknown,
): { readonly configuration: EmotionConfiguration } | { readonly problems: readonly Problem[] } {
  if (value === undefined || value === null) {
    return { problems: [{ path: [], says: "is empty; leave the file out for the built-in one" }] };
  }
  const top = new Place();
  const configuration = schema.read(value, top);
  return top.problems.length > 0
    ? { problems: top.problems }
    : { configuration: freezeDeep(configuration) };
}

export const anEmotionConfiguration = having("an emotion configuration", "settings");
