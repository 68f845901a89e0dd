/** A random number from 0 up to, and without, 1. Passed in, so that a seed can replay a run. */
export type Jitter = () => number;

export const systemJitter: Jitter = () =>
  (globalThis.crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32;

export const backoff = {
  firstMs: 1_000,
  ceilingMs: 300_000,
  /** Failures at the ceiling, an hour together on average: from then on once an hour. */
  atCeiling: 24,
  hourMs: 3_600_000,
} as const;

/** The first failure whose delay is the ceiling: 2^9 s is more than 300. */
const ceilingFrom = Math.ceil(Math.log2(backoff.ceilingMs / backoff.firstMs)) + 1;

/**
 * How long to wait after the `failures`-th failure in a row, in milliseconds: 1 s, doubling up to
 * 300 s, of which a random part is waited; after about an hour of that, once an hour.
 *
 * Source: "Exponential backoff and jitter", AWS Architecture Blog (2015): full jitter.
 */
export function backoffMs(failures: number, jitter: Jitter): number {
  if (failures >= ceilingFrom + backoff.atCeiling) {
    return backoff.hourMs * (1 - 0.1 * jitter()); // not all in the same second
  }
  const most = Math.min(backoff.firstMs * 2 ** Math.max(failures - 1, 0), backoff.ceilingMs);
  return Math.ceil(most * jitter());
}
