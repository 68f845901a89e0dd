// Converts sound to the form that the server takes. Runs in the audio thread.

/** @param rate samples a second, of what comes in. */
export class Chunker {
  readonly #emit: (samples: Int16Array<ArrayBuffer>, firstFrame: number) => void;
  readonly #rate: number;
  readonly #to: number;
  #chunk: Int16Array<ArrayBuffer>;
  #filled = 0;
  #firstFrame = 0;
  /** The sample that is being made: its sum, its count, and its phase. */
  #sum = 0;
  #count = 0;
  #phase = 0;

  constructor(
    rate: number,
    to: { readonly rate: number; readonly chunk: number },
    emit: (samples: Int16Array<ArrayBuffer>, firstFrame: number) => void,
  ) {
    this.#rate = rate;
    this.#to = to.rate;
    this.#chunk = new Int16Array(to.chunk);
    this.#emit = emit;
  }

  /**
   * Takes samples from -1 to 1; gives 16 bits, in whole chunks, by averaging where fewer are wanted.
   *
   * @param frame the number of the first one, of all that the audio thread counts.
   */
  push(samples: Float32Array, frame: number): void {
    for (const [at, sample] of samples.entries()) {
      if (this.#filled === 0 && this.#count === 0) this.#firstFrame = frame + at;
      this.#sum += sample;
      this.#count++;
      this.#phase += this.#to;
      if (this.#phase < this.#rate) continue;
      const mean = this.#sum / this.#count;
      this.#sum = 0;
      this.#count = 0;
      for (; this.#phase >= this.#rate; this.#phase -= this.#rate) this.#add(mean);
    }
  }

  #add(sample: number): void {
    this.#chunk[this.#filled] = Math.max(-1, Math.min(1, sample)) * 32_767;
    this.#filled++;
    if (this.#filled < this.#chunk.length) return;
    const full = this.#chunk;
    this.#chunk = new Int16Array(full.length);
    this.#filled = 0;
    this.#emit(full, this.#firstFrame);
  }
}
