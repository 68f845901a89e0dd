/** At ten chunks a second one of them is prompt in this time, also on a busy machine. */
const windowMs = 2_000;

/**
 * When sound was, on the page's clock. The audio thread counts samples, exactly, but from a time that
 * nobody tells; what it hands out comes late by some milliseconds, never early. So the smallest distance
 * of the last 2 s is the true one. It follows when one clock runs faster, and when the audio thread
 * stood still for a while: what it counts then begins anew, later.
 */
export class SoundClock {
  #chunks: { readonly atMs: number; readonly offset: number }[] = [];

  /**
   * @param endMs of the chunk, as the audio thread counts.
   * @param atMs when the chunk was whole, on the page's clock.
   * @returns what to add to a time of the audio thread.
   */
  offset(endMs: number, atMs: number): number {
    this.#chunks = this.#chunks.filter((chunk) => atMs - chunk.atMs < windowMs);
    this.#chunks.push({ atMs, offset: atMs - endMs });
    return Math.min(...this.#chunks.map(({ offset }) => offset));
  }
}
