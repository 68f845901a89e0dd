import type { FrameEntry } from "../package/record.ts";

/** A picture this long before the judged turn still shows how it began. */
const leadMs = 5_000;

/**
 * The pictures for a row: at most `max`, spread evenly over those of the judged turn and the last one before it, the
 * first and the last of these among them, in the order of time. Pictures after the trigger, which may
 * show the reaction, and pictures without a time stay out.
 *
 * @param startMs when the turn began, relative to the trigger; null: with the first picture.
 */
export function chooseFrames(
  frames: readonly FrameEntry[],
  startMs: number | null,
  max: number,
): readonly FrameEntry[] {
  const start = startMs === null ? Number.NEGATIVE_INFINITY : Math.min(startMs, 0);
  const isNear = ({ t_ms: t }: FrameEntry) => t !== null && t >= start - leadMs && t <= 0;
  const near = frames.filter(isNear).sort((a, b) => Number(a.t_ms) - Number(b.t_ms));
  const opening = near.findLastIndex(({ t_ms: t }) => Number(t) <= start);
  const shown = near.slice(Math.max(opening, 0)).reverse();
  const count = Math.min(max, shown.length);
  const step = count > 1 ? (shown.length - 1) / (count - 1) : 0;
  const chosen = Array.from({ length: count }, (_, n) => shown[Math.round(n * step)]);
  return chosen.filter((frame) => frame !== undefined).reverse();
}
