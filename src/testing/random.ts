/** The next whole number from 0 up to, and without, `below`. */
export type Random = (below: number) => number;

/**
 * A stream of numbers that its seed decides, so that a failure replays from one number.
 *
 * Source: xorshift32, G. Marsaglia, "Xorshift RNGs" (2003). Not for secrets.
 */
export function seededRandom(seed: number): Random {
  let state = Math.imul(seed + 1, 0x9e3779b1) | 0 || 1; // spreads near seeds; 0 would stay 0
  const next: Random = (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
  for (let round = 0; round < 4; round++) next(1);
  return next;
}
