/** Allocated at once: the sound of a package at its longest, or 160 pictures. */
const slabBytes = 8 * 1024 * 1024;

/** Memory that is reused: the garbage collector would free it long after its last use. */
export class ReusedMemory {
  readonly #slabs: Buffer[] = [];
  #slab = 0;
  /** Of this slab. */
  #used = 0;

  /** From here on, memory that was given before is given again. */
  reuse(): void {
    this.#slab = 0;
    this.#used = 0;
  }

  /** @returns so many bytes, whatever is in them: good until `reuse`. */
  readonly allocate = (bytes: number): Buffer => {
    if (bytes > slabBytes) return Buffer.allocUnsafe(bytes);
    if (this.#used + bytes > slabBytes) {
      this.#slab++;
      this.#used = 0;
    }
    const slab = this.#slabs[this.#slab] ?? Buffer.allocUnsafeSlow(slabBytes);
    this.#slabs[this.#slab] = slab;
    const start = this.#used;
    this.#used += bytes;
    return slab.subarray(start, this.#used);
  };
}
