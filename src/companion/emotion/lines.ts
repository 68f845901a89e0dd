// Values that are straight between points. They tell when something may change; what a level is at
// an instant is computed in levels.ts, without them.

export interface Point {
  /** Milliseconds after the anchor, not rounded. */
  readonly ms: number;
  readonly value: number;
}

/** A value over time: at least one point, the first at 0; straight between, flat after the last. */
export type Line = readonly Point[];

export function valueAt(line: Line, ms: number): number {
  let before: Point | undefined;
  for (const point of line) {
    if (point.ms >= ms) {
      if (before === undefined || point.ms === ms) return point.value;
      const share = (ms - before.ms) / (point.ms - before.ms);
      return before.value + (point.value - before.value) * share;
    }
    before = point;
  }
  return before?.value ?? 0;
}

/** Nearer than this a point may be on either side of a value, by rounding. */
const touch = 1e-9;

/** The instants at which a line crosses a value, or has a point at it. */
export function crossings(line: Line, value: number): readonly number[] {
  const found: number[] = [];
  let before: Point | undefined;
  for (const point of line) {
    if (before !== undefined && (before.value - value) * (point.value - value) < 0) {
      const share = (value - before.value) / (point.value - before.value);
      found.push(before.ms + (point.ms - before.ms) * share);
    }
    if (Math.abs(point.value - value) < touch) found.push(point.ms);
    before = point;
  }
  return found;
}

/** The instants at which one line crosses the other, or they have a point in common. */
export function meetings(one: Line, other: Line): readonly number[] {
  const apart = instantsOf([one, other]).map((ms) => ({
    ms,
    value: valueAt(one, ms) - valueAt(other, ms),
  }));
  return crossings(apart, 0);
}

/** The higher of two lines at every instant. */
export function upper(one: Line, other: Line): Line {
  const instants = sorted([...instantsOf([one, other]), ...meetings(one, other)]);
  return instants.map((ms) => ({ ms, value: Math.max(valueAt(one, ms), valueAt(other, ms)) }));
}

/** The instants of all points, in order, each once. */
export function instantsOf(lines: readonly Line[]): readonly number[] {
  const instants: number[] = [];
  for (const line of lines) for (const { ms } of line) instants.push(ms);
  return sorted(instants);
}

export function sorted(instants: readonly number[]): readonly number[] {
  return instants
    .toSorted((a, b) => a - b)
    .filter((instant, index, all) => instant !== all[index - 1]);
}
