import { type EmotionConfiguration, equalityTolerance } from "./configuration.ts";
import { type Anchor, type Emotion, emotions, lastInstant, type Mood } from "./emotion.ts";
import { woundGoneAt } from "./levels.ts";
import { crossings, type Line, meetings, sorted, valueAt } from "./lines.ts";
import { ruledMood } from "./mood-rules.ts";

export interface MoodChange {
  readonly at: number;
  readonly mood: Mood;
}

/**
 * Every change of mood that time alone will bring, in order. A mood changes at the first
 * millisecond at which it has lasted for the hysteresis and the rules say another.
 *
 * Method: between the instants at which a condition can turn, what the rules say is constant. So
 * it is asked there only, and the very millisecond is found by halving. The number of instants
 * depends on the rules and wounds, not on how much time passes.
 */
export function moodChanges(
  config: EmotionConfiguration,
  anchor: Anchor,
  lines: Readonly<Record<Emotion, Line>>,
  boredom: Line,
): readonly MoodChange[] {
  const instants = turningInstants(config, anchor, lines, boredom);
  const ruled = (at: number) => ruledMood(config, anchor, valueAt(boredom, at - anchor.at), at);
  const changes: MoodChange[] = [];
  let { mood, moodSince: since } = anchor;
  let next = 0;
  // Each change consumes an instant, but for one that rounding might hide: hence the bound.
  while (changes.length <= instants.length) {
    const free = Math.max(anchor.at, since + config.settings.hysteresisMs);
    if (free > lastInstant) break;
    let at: number | undefined = ruled(free) === mood ? undefined : free;
    let quiet = free;
    while (at === undefined && next < instants.length) {
      const instant = instants[next] ?? free;
      if (instant > quiet && ruled(instant) !== mood) {
        const held = mood;
        at = firstBetween(quiet, instant, (between) => ruled(between) !== held);
      } else {
        quiet = Math.max(quiet, instant);
        next += 1;
      }
    }
    if (at === undefined) break;
    since = at;
    mood = ruled(at);
    changes.push({ at, mood });
  }
  return changes;
}

/** The first whole number past `from` and up to `to` that holds, if it holds from there to `to`. */
function firstBetween(from: number, to: number, holds: (at: number) => boolean): number {
  let [low, high] = [from, to];
  while (high - low > 1) {
    const middle = low + Math.floor((high - low) / 2);
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** The whole milliseconds by which a condition of a rule may have turned, in order. */
function turningInstants(
  config: EmotionConfiguration,
  anchor: Anchor,
  lines: Readonly<Record<Emotion, Line>>,
  boredom: Line,
): readonly number[] {
  const { values, dominants, looksAtWounds } = lookedAt(config);
  const offsets: number[] = [];
  for (const what of [...emotions, "boredom"] as const) {
    const line = what === "boredom" ? boredom : lines[what];
    for (const value of values.get(what) ?? []) offsets.push(...crossings(line, value));
  }
  if (looksAtWounds) {
    for (const wound of anchor.wounds) offsets.push(woundGoneAt(wound, anchor.at) - anchor.at);
  }
  for (const one of dominants) {
    for (const other of emotions) {
      if (other !== one) offsets.push(...meetings(lines[one], lines[other]));
    }
  }
  // Last, for a turn that rounding moved past the instants around it: there, all is over.
  const instants: number[] = [lastInstant];
  for (const ms of offsets) {
    // A turn on a whole millisecond may by rounding be found just before it, and `>` turns after it.
    const at = anchor.at + Math.floor(ms) + 1;
    if (at < lastInstant - 1) instants.push(at, at + 1);
  }
  return sorted(instants);
}

/** What the rules compare, so that only that is followed. */
function lookedAt(config: EmotionConfiguration) {
  const values = new Map<Emotion | "boredom", Set<number>>();
  const conditions = config.moodRules.flatMap((rule) => rule.conditions);
  for (const condition of conditions) {
    if (condition.kind !== "compare") continue;
    const { what, comparator, value } = condition;
    const found = values.get(what) ?? new Set();
    values.set(what, found);
    if (comparator === "==") found.add(value - equalityTolerance).add(value + equalityTolerance);
    else found.add(value);
  }
  const dominant = conditions.flatMap((found) => (found.kind === "dominant" ? found.value : []));
  const looksAtWounds = conditions.some(({ kind }) => kind === "wounds");
  return { values, dominants: new Set(dominant), looksAtWounds };
}
