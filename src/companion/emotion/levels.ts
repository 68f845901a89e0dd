import type { EmotionConfiguration } from "./configuration.ts";
import {
  type Anchor,
  type Emotion,
  eachLevel,
  emotions,
  type Levels,
  type Wound,
} from "./emotion.ts";

/** The wound with its floors as they are at `at`; `undefined` when it is gone. */
export function woundAt(wound: Wound, anchorAt: number, at: number): Wound | undefined {
  const floors: Partial<Record<Emotion, number>> = {};
  let deepest = 0;
  for (const emotion of emotions) {
    if (wound.floors[emotion] === undefined) continue;
    const floor = sinking(wound, emotion, anchorAt, at, wound.healPerSecond);
    floors[emotion] = floor;
    deepest = Math.max(deepest, floor);
  }
  return deepest > 0 ? { ...wound, floors } : undefined;
}

/** Whole milliseconds from `at` until the wound is gone; `null`: it never heals by itself. */
export function healsInMs(wound: Wound, anchorAt: number, at: number): number | null {
  const isGone = (instant: number) => woundAt(wound, anchorAt, instant) === undefined;
  const deepest = Math.max(0, ...Object.values(wound.floors));
  const goneAt = heldUntil(wound, anchorAt) + (deepest / wound.healPerSecond) * 1000;
  if (!Number.isFinite(goneAt)) return null;
  // The division may be one rounding off the subtraction that decides.
  let instant = Math.max(at, Math.ceil(goneAt));
  if (instant > at && isGone(instant - 1)) instant -= 1;
  else if (!isGone(instant)) instant += 1;
  return instant - at;
}

/**
 * All levels at an instant not before the anchor: each has moved from where it was to its baseline
 * without passing it, and no lower than the wounds allow. A floor that falls faster than the level
 * decays lets go of it; the level then decays at its own rate.
 */
export function levelsAt(config: EmotionConfiguration, anchor: Anchor, at: number): Levels {
  return eachLevel((emotion) => levelAt(config, anchor, emotion, at));
}

function levelAt(
  config: EmotionConfiguration,
  anchor: Anchor,
  emotion: Emotion,
  at: number,
): number {
  const { baseline, decayPerSecond } = config.emotions[emotion];
  const start = startOf(anchor, emotion);
  const moved = (decayPerSecond * (at - anchor.at)) / 1000;
  let level =
    start > baseline ? Math.max(baseline, start - moved) : Math.min(baseline, start + moved);
  for (const wound of anchor.wounds) {
    // Held by its floor until it sinks; from then on the slower of both decides.
    const slower = Math.min(wound.healPerSecond, decayPerSecond);
    level = Math.max(level, sinking(wound, emotion, anchor.at, at, slower));
  }
  return level;
}

const negatives = emotions.filter((emotion) => emotion !== "joy");

/**
 * Boredom at an instant not before the anchor, from 0 to 1. It grows while a run is up, every emotion other than
 * joy is low, and joy is low too or nothing has happened for a while. Else it falls.
 */
export function boredomAt(config: EmotionConfiguration, anchor: Anchor, at: number): number {
  const { growPerSecond, decayPerSecond, joyBelow, negativesBelow, neglectAfterMs } =
    config.boredom;
  const neglectedAt =
    neglectAfterMs === null
      ? Number.POSITIVE_INFINITY
      : anchor.stimulusAt + neglectAfterMs - anchor.at;
  const grows = (ms: number) => {
    const { joy, ...others } = levelsAt(config, anchor, anchor.at + ms);
    const isCalm = negatives.every((emotion) => others[emotion] < negativesBelow);
    return anchor.isUp && isCalm && (ms >= neglectedAt || joy < joyBelow);
  };
  const turns = [
    neglectedAt,
    ...turnsOf(config, anchor, "joy", joyBelow),
    ...negatives.flatMap((emotion) => turnsOf(config, anchor, emotion, negativesBelow)),
  ];
  const until = at - anchor.at;
  const passed = turns.filter((ms) => ms > 0 && ms < until).sort((a, b) => a - b);
  let boredom = anchor.boredom;
  let from = 0;
  for (const to of [...passed, until]) {
    // Between two turns nothing changes, and at a turn itself it takes no time.
    const perSecond = grows((from + to) / 2) ? growPerSecond : -decayPerSecond;
    boredom = Math.max(0, Math.min(1, boredom + (perSecond * (to - from)) / 1000));
    from = to;
  }
  return boredom;
}

/** The instants at which a level may cross a value, in milliseconds after the anchor: none is missing. */
function turnsOf(
  config: EmotionConfiguration,
  anchor: Anchor,
  emotion: Emotion,
  value: number,
): readonly number[] {
  const { decayPerSecond } = config.emotions[emotion];
  const arrival = (away: number, perSecond: number) => (away / perSecond) * 1000;
  const sinks = anchor.wounds.map((wound) => {
    const away = (wound.floors[emotion] ?? 0) - value;
    const held = heldUntil(wound, anchor.at) - anchor.at;
    return held + arrival(away, Math.min(wound.healPerSecond, decayPerSecond));
  });
  return [arrival(Math.abs(startOf(anchor, emotion) - value), decayPerSecond), ...sinks];
}

/** The level at the anchor, raised to the floors there. */
function startOf(anchor: Anchor, emotion: Emotion): number {
  let start = anchor.levels[emotion];
  for (const { floors } of anchor.wounds) start = Math.max(start, floors[emotion] ?? 0);
  return start;
}

function heldUntil(wound: Wound, anchorAt: number): number {
  return Math.max(anchorAt, wound.createdAt + wound.durationMs);
}

function sinking(
  wound: Wound,
  emotion: Emotion,
  anchorAt: number,
  at: number,
  perSecond: number,
): number {
  const floor = wound.floors[emotion] ?? 0;
  const sunkMs = at - heldUntil(wound, anchorAt);
  return sunkMs <= 0 ? floor : Math.max(0, floor - (perSecond * sunkMs) / 1000);
}
