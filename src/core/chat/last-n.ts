import { invalid } from "../errors.ts";

/**
 * The last `n` items, in the order of the list: the one rule of every call that takes such an `n`.
 * Absent is all; 0 or less is nothing; more than there are is all.
 *
 * @returns a list of the caller's own.
 * @throws ThroughlineError `THROUGHLINE_INVALID`: `n` is not a whole number.
 */
export function lastN<T>(items: readonly T[], n?: number): T[] {
  if (n === undefined) return items.slice();
  if (!Number.isInteger(n)) throw invalid("n must be a whole number");
  // Not slice(-n) alone: slice(-0) is everything.
  return n <= 0 ? [] : items.slice(-n);
}
