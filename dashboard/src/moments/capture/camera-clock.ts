/** At ten pictures a second one of them is prompt in this time, also on a busy machine. */
const windowMs = 2_000;

/**
 * When a picture was taken, on the page's clock. Whoever takes it counts, exactly, but from a time that
 * nobody tells; what is handed out comes late by some milliseconds, never early. So the smallest
 * distance of the last 2 s is the true one. It follows when one clock runs faster, and when the camera
 * counts anew.
 */
export class CameraClock {
  #seen: { readonly atMs: number; readonly offset: number }[] = [];

  /**
   * @param takenMs when it was taken, as the camera counts.
   * @param atMs when it was handed out, on the page's clock.
   * @returns what to add to a time of the camera.
   */
  offset(takenMs: number, atMs: number): number {
    this.#seen = this.#seen.filter((one) => atMs - one.atMs < windowMs);
    this.#seen.push({ atMs, offset: atMs - takenMs });
    return Math.min(...this.#seen.map(({ offset }) => offset));
  }
}
