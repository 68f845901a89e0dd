import { audioBlockSamples } from "../package/package-sink.ts";

/** A second of sound. Append-only: what was written once stays as it is until the block is reused. */
export interface AudioBlock {
  readonly pcm: Int16Array;
  /** Bit i: a chunk ended with sample i. So chunks are counted exactly, whatever their number. */
  readonly ends: Uint32Array;
  /** How many hold it: the ring, and each snapshot. */
  holders: number;
}

/** Blocks without holders, to be reused, so that incoming sound makes no garbage. */
export class AudioPool {
  readonly #maxFree: number;
  readonly #free: AudioBlock[] = [];

  constructor(maxFree = 4) {
    this.#maxFree = maxFree;
  }

  /** An empty block with one holder. */
  take(): AudioBlock {
    const block = this.#free.pop();
    if (block === undefined) {
      const pcm = new Int16Array(audioBlockSamples);
      return { pcm, ends: new Uint32Array(Math.ceil(audioBlockSamples / 32)), holders: 1 };
    }
    block.ends.fill(0);
    block.holders = 1;
    return block;
  }

  release(block: AudioBlock): void {
    block.holders--;
    if (block.holders === 0 && this.#free.length < this.#maxFree) this.#free.push(block);
  }
}

/** Marks that a chunk ended with this sample of the block. */
export function markEnd(block: AudioBlock, sample: number): void {
  const word = sample >>> 5;
  block.ends[word] = (block.ends[word] ?? 0) | (1 << (sample & 31));
}

/** How many chunks ended with a sample from `from` to before `to`. */
export function countEnds(block: AudioBlock, from: number, to: number): number {
  let count = 0;
  for (let word = from >>> 5; word * 32 < to; word++) {
    let bits = block.ends[word] ?? 0;
    if (word * 32 < from) bits &= -1 << (from & 31);
    if (to - word * 32 < 32) bits &= (1 << (to & 31)) - 1;
    for (; bits !== 0; bits &= bits - 1) count++;
  }
  return count;
}
