import type { FrameEntry } from "../package/record.ts";

/** A picture this long before the judged turn still shows how it began. */
const leadMs = 5_000;

/**
 * The pictures for a row: at most `max`, spread evenly over the judged turn in time, the ones nearest
 * its start and the trigger among them, in the order of time. Pictures after the trigger, which may
 * show the reaction, and pictures without a time stay out.
 *
 * @param startMs when the turn began, relative to the trigger; null: with the first picture.
 */
export function chooseFrames(
  frames: readonly FrameEntry[],
  startMs: number | null,
  max: number,
): readonly FrameEntry[] {
  const from = startMs === null ? Number.NEGATIVE_INFINITY : Math.min(startMs, 0) - leadMs;
  const timed = frames
    .flatMap((frame) => (frame.t_ms === null ? [] : [{ frame, t: frame.t_ms }]))
    .filter(({ t }) => t >= from && t <= 0)
    .sort((a, b) => a.t - b.t);
  const first = timed[0];
  if (first === undefined || max < 1) return [];
  const start = Math.min(startMs ?? first.t, 0);
  const inTurn = timed.filter(({ t }) => t >= start);
  const opening = nearest(timed, start);
  if (inTurn.length + (inTurn[0] === opening ? 0 : 1) <= max && opening !== undefined) {
    return [...new Set([opening, ...inTurn])].map(({ frame }) => frame);
  }
  const chosen = new Set<(typeof timed)[number]>();
  for (let n = 0; n < max; n++) {
    const at = max === 1 ? 0 : start - (start * n) / (max - 1);
    const frame = nearest(timed, at);
    if (frame !== undefined) chosen.add(frame);
  }
  return [...chosen].sort((a, b) => a.t - b.t).map(({ frame }) => frame);
}

/** Of two that are equally near, the earlier. */
function nearest<T extends { readonly t: number }>(items: readonly T[], at: number): T | undefined {
  let best: T | undefined;
  for (const item of items) {
    if (best === undefined || Math.abs(item.t - at) < Math.abs(best.t - at)) best = item;
  }
  return best;
}
