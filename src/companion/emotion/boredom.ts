import type { EmotionConfiguration } from "./configuration.ts";
import { type Anchor, type Emotion, emotions } from "./emotion.ts";
import { crossings, instantsOf, type Line, type Point, sorted, valueAt } from "./lines.ts";

const negatives = emotions.filter((emotion) => emotion !== "joy");

/**
 * Boredom over all time to come, from 0 to 1. It grows while a run is up, every emotion other than
 * joy is low, and joy is low too or nothing has happened for a while. Else it falls.
 */
export function boredomLine(
  config: EmotionConfiguration,
  anchor: Anchor,
  lines: Readonly<Record<Emotion, Line>>,
): Line {
  const { growPerSecond, decayPerSecond, joyBelow, negativesBelow, neglectAfterMs } =
    config.boredom;
  const neglectedAt =
    neglectAfterMs === null
      ? Number.POSITIVE_INFINITY
      : anchor.stimulusAt + neglectAfterMs - anchor.at;
  const grows = (ms: number) =>
    anchor.isUp &&
    negatives.every((emotion) => valueAt(lines[emotion], ms) < negativesBelow) &&
    (ms >= neglectedAt || valueAt(lines.joy, ms) < joyBelow);

  const turns = anchor.isUp
    ? sorted([
        ...instantsOf(Object.values(lines)),
        ...crossings(lines.joy, joyBelow),
        ...negatives.flatMap((emotion) => crossings(lines[emotion], negativesBelow)),
        ...(neglectedAt > 0 && Number.isFinite(neglectedAt) ? [neglectedAt] : []),
      ])
    : [0];
  const points: Point[] = [{ ms: 0, value: anchor.boredom }];
  turns.forEach((from, index) => {
    const to = turns[index + 1] ?? Number.POSITIVE_INFINITY;
    // Between two turns nothing changes, and at a turn itself it takes no time.
    const isGrowing = grows(Number.isFinite(to) ? (from + to) / 2 : from + 1);
    move(points, isGrowing ? 1 : 0, isGrowing ? growPerSecond : decayPerSecond, to);
  });
  return points;
}

/** Goes on from the last point towards a limit, and rests there, until an instant. */
function move(points: Point[], limit: number, perSecond: number, until: number): void {
  const last = points.at(-1);
  if (last === undefined || last.ms >= until) return;
  const away = limit - last.value;
  const arrival = last.ms + (Math.abs(away) / perSecond) * 1000;
  if (away === 0 || !Number.isFinite(arrival)) {
    if (Number.isFinite(until)) points.push({ ms: until, value: last.value });
  } else if (arrival > until) {
    const step = (Math.sign(away) * perSecond * (until - last.ms)) / 1000;
    points.push({ ms: until, value: Math.min(1, Math.max(0, last.value + step)) });
  } else {
    points.push({ ms: arrival, value: limit });
    if (Number.isFinite(until)) points.push({ ms: until, value: limit });
  }
}
