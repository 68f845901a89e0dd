import { type AudioRef, audioBlockSamples, audioRateHz } from "../package/package-sink.ts";
import type { Received } from "./capture-clock.ts";
import { writePcm } from "./pcm.ts";

interface AudioLimits {
  readonly samples: number;
  /** Of the blocks, which are held whole. */
  readonly bytes: number;
  readonly ageMs: number;
}

/** Sound of some time, held by reference. Samples are counted from the first one ever fed. */
export interface AudioSnapshot {
  readonly blocks: readonly AudioBlock[];
  /** Of the first sample, within the first block. */
  readonly start: number;
  readonly from: number;
  readonly to: number;
  /** When the newest sample was received, on the monotonic clock. */
  readonly endMs: number;
  /** When the newest sample was heard, on the sender's clock. */
  readonly sourceEndMs: number | null;
}

/** When a chunk was received; the first sample's time on the sender's clock is `sourceMs`. */
export interface ChunkTime extends Received {
  readonly sourceMs?: number | undefined;
}

/** Samples that came within 100 ms of each other, for the age limit. */
interface Segment {
  /** The first of it, counted from the first one ever fed. */
  readonly sample: number;
  readonly beganMs: number;
  /** When the newest of its chunks was received. */
  ageMs: number;
}

const segmentMs = 100;

const blockBytes = audioBlockSamples * 2;
const samplesPerMs = audioRateHz / 1_000;

/**
 * The last samples, exactly: trimmed by the sample, not by the chunk. They lie in blocks that are
 * only ever appended to, so a snapshot is a list of blocks and two numbers.
 */
export class AudioRing {
  readonly #limits: AudioLimits;
  readonly #pool: AudioPool;
  #blocks: AudioBlock[] = [];
  /** Of the first sample of the first block. */
  #base = 0;
  #from = 0;
  #to = 0;
  #segments: Segment[] = [];
  #endMs = 0;
  #sourceEndMs: number | null = null;

  constructor(limits: AudioLimits, pool = new AudioPool()) {
    this.#limits = limits;
    this.#pool = pool;
  }

  /** How many samples there are. */
  get samples(): number {
    return this.#to - this.#from;
  }

  get bytes(): number {
    return this.#blocks.length * blockBytes;
  }

  /** Ignores an empty chunk. */
  push(chunk: Float32Array | Int16Array, { monoMs, ageMs, sourceMs }: ChunkTime): void {
    if (chunk.length === 0) return;
    this.expire(ageMs);
    const last = this.#segments.at(-1);
    if (last !== undefined && ageMs - last.beganMs < segmentMs) last.ageMs = ageMs;
    else this.#segments.push({ sample: this.#to, beganMs: ageMs, ageMs });
    this.#endMs = monoMs;
    this.#sourceEndMs = sourceMs === undefined ? null : sourceMs + chunk.length / samplesPerMs;
    // Of a chunk that is too long, what would be dropped at once is not written at all.
    const skipped = Math.max(chunk.length - this.#limits.samples, 0);
    if (skipped > 0) this.#skip(skipped);
    this.#write(chunk, skipped);
    this.#advance(this.#to - this.#limits.samples);
    const mostBlocks = Math.max(Math.floor(this.#limits.bytes / blockBytes), 1);
    const excess = this.#blocks.length - mostBlocks;
    this.#advance(this.#base + excess * audioBlockSamples);
  }

  /** Drops sound of which the newest was received longer ago than the limit, by about a second. */
  expire(nowAgeMs: number): void {
    let keptFrom = this.#from;
    for (const [index, segment] of this.#segments.entries()) {
      if (nowAgeMs - segment.ageMs <= this.#limits.ageMs) break;
      keptFrom = this.#segments[index + 1]?.sample ?? this.#to;
    }
    this.#advance(keptFrom);
  }

  /** Holds the samples from `since` on, or all. The caller must call `release` once. */
  snapshot(since = 0): AudioSnapshot {
    const from = Math.min(Math.max(since, this.#from), this.#to);
    const first = Math.floor((from - this.#base) / audioBlockSamples);
    const blocks = from === this.#to ? [] : this.#blocks.slice(first);
    for (const block of blocks) block.holders++;
    const start = from - this.#base - first * audioBlockSamples;
    const times = { endMs: this.#endMs, sourceEndMs: this.#sourceEndMs };
    return { blocks, start, from, to: this.#to, ...times };
  }

  release(snapshot: AudioSnapshot): void {
    for (const block of snapshot.blocks) this.#pool.release(block);
  }

  /** Forgets all sound, at once; its blocks are not used again. */
  clear(): void {
    this.#blocks = [];
    this.#segments = [];
    this.#base = this.#to;
    this.#from = this.#to;
  }

  /** Leaves out samples that come before what is kept of a chunk, with all that is there. */
  #skip(count: number): void {
    for (const block of this.#blocks) this.#pool.release(block);
    this.#blocks = [];
    this.#to += count;
    this.#base = this.#to;
    this.#from = this.#to;
    this.#segments = this.#segments.slice(-1);
  }

  #write(chunk: Float32Array | Int16Array, begin: number): void {
    for (let at = begin; at < chunk.length; ) {
      const offset = (this.#to - this.#base) % audioBlockSamples;
      const isFull = this.#to - this.#base === this.#blocks.length * audioBlockSamples;
      if (isFull) this.#blocks.push(this.#pool.take());
      const block = this.#blocks.at(-1);
      if (block === undefined) return;
      const count = Math.min(chunk.length - at, audioBlockSamples - offset);
      writePcm(chunk, at, at + count, block.pcm, offset);
      at += count;
      this.#to += count;
      if (at === chunk.length) markEnd(block, offset + count - 1);
    }
  }

  /** Drops what comes before `from`. */
  #advance(from: number): void {
    if (from <= this.#from) return;
    this.#from = from;
    while (from - this.#base >= audioBlockSamples) {
      const oldest = this.#blocks.shift();
      if (oldest === undefined) break;
      this.#pool.release(oldest);
      this.#base += audioBlockSamples;
    }
    const isEmpty = from === this.#to;
    const first = isEmpty ? this.#segments.length - 1 : this.#segmentOf(from);
    if (first > 0) this.#segments.splice(0, first);
  }

  /** The one in which that sample is; most often one of the first is asked for. */
  #segmentOf(from: number): number {
    const after = this.#segments.findIndex(({ sample }) => sample > from);
    return Math.max((after === -1 ? this.#segments.length : after) - 1, 0);
  }
}

/** How many chunks, as they were fed, reach into it. */
export function chunksIn({ blocks, start, from, to }: AudioSnapshot): number {
  let count = 0;
  let left = to - from;
  let begin = start;
  for (const block of blocks) {
    const end = Math.min(begin + left, audioBlockSamples);
    count += countEnds(block, begin, end);
    left -= end - begin;
    begin = 0;
  }
  return count;
}

/** When its first sample was heard, on the monotonic clock: `endMs` less the time of its samples. */
export function startOf({ from, to, endMs }: AudioSnapshot): number {
  return endMs - (to - from) / samplesPerMs;
}

/** The same on the sender's clock; null: the sender did not say. */
export function sourceStartOf({ from, to, sourceEndMs }: AudioSnapshot): number | null {
  return sourceEndMs === null ? null : sourceEndMs - (to - from) / samplesPerMs;
}

/** The form that a writer of the sound needs. */
export function audioRef({ blocks, start, from, to }: AudioSnapshot): AudioRef {
  return { blocks: blocks.map(({ pcm }) => pcm), start, samples: to - from };
}

/**
 * Two snapshots as one, if the second continues where the first ends; else the first, and the
 * second is `left` over. The holder releases both as before.
 */
export function joined(first: AudioSnapshot, second: AudioSnapshot): AudioSnapshot {
  if (second.from === second.to || second.from !== first.to) return first;
  if (first.from === first.to) return second;
  const shared = first.blocks.at(-1) === second.blocks[0] ? 1 : 0;
  const { to, endMs, sourceEndMs } = second;
  const blocks = [...first.blocks, ...second.blocks.slice(shared)];
  return { ...first, blocks, to, endMs, sourceEndMs };
}

/** A second of sound. Append-only: what was written once stays as it is until the block is reused. */
interface AudioBlock {
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
function markEnd(block: AudioBlock, sample: number): void {
  const word = sample >>> 5;
  block.ends[word] = (block.ends[word] ?? 0) | (1 << (sample & 31));
}

/** How many chunks ended with a sample from `from` to before `to`. */
function countEnds(block: AudioBlock, from: number, to: number): number {
  let count = 0;
  for (let word = from >>> 5; word * 32 < to; word++) {
    let bits = block.ends[word] ?? 0;
    if (word * 32 < from) bits &= -1 << (from & 31);
    if (to - word * 32 < 32) bits &= (1 << (to & 31)) - 1;
    for (; bits !== 0; bits &= bits - 1) count++;
  }
  return count;
}
