import { type EmotionState, lastInstant } from "./emotion.ts";

/**
 * Lets time pass: nothing is written but the instant. `evolve(evolve(s, a), b)` equals
 * `evolve(s, a + b)` bit for bit.
 *
 * @param ms whole milliseconds; a fraction is dropped. What is negative or not finite is no time at
 *   all, since clocks jump. Past `lastInstant` time stands still.
 */
export function evolve(state: EmotionState, ms: number): EmotionState {
  const step = Number.isFinite(ms) && ms > 0 ? Math.floor(ms) : 0;
  const at = Math.min(lastInstant, state.at + step);
  return at === state.at ? state : Object.freeze({ at, anchor: state.anchor });
}
