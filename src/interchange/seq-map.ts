/**
 * Where records went that had other numbers before: a file from which lines are missing or were left
 * out gets a new number. Grows with the gaps, not with the file.
 */
export class SeqMap {
  /** From `old` on, the new number is `old - lost`. */
  readonly #steps: { readonly old: number; readonly lost: number }[] = [];
  #last = 0;

  /** Records come in order; an old number that does not rise says nothing. */
  add(old: number, seq: number): void {
    if (old <= this.#last) return;
    this.#last = old;
    const lost = old - seq;
    if ((this.#steps.at(-1)?.lost ?? 0) !== lost) this.#steps.push({ old, lost });
  }

  /** The new number of this record; if it is missing, of the last one before it. */
  of(old: number): number {
    const next = this.#steps.findIndex((step) => step.old > old);
    const step = this.#steps[next === -1 ? this.#steps.length - 1 : next - 1];
    const following = next === -1 ? undefined : this.#steps[next];
    const end = following === undefined ? this.#last : following.old;
    const mapped = Math.min(old, Math.max(end, 0)) - (step?.lost ?? 0);
    const cap = following === undefined ? mapped : following.old - following.lost - 1;
    return Math.max(0, Math.min(mapped, cap));
  }
}
