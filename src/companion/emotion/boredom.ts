import type { EmotionConfiguration } from "./configuration.ts";
import { type Anchor, emotions } from "./emotion.ts";
import { levelsAt, turnsOf } from "./levels.ts";

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
