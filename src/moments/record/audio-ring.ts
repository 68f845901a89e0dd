import { type AudioRef, audioRateHz } from "../package/package-sink.ts";
import type { Received } from "./capture-clock.ts";
import { writePcm } from "./pcm.ts";

interface AudioLimits {
  readonly samples: number;
  readonly ageMs: number;
}

/** Sound of some time, held by reference. Samples are counted from the first one ever fed. */
export interface AudioSnapshot {
  readonly parts: readonly AudioPart[];
  readonly from: number;
  readonly to: number;
  /** When the newest sample was received, on the monotonic clock. */
  readonly endMs: number;
  /** When the newest sample was heard, on the sender's clock. */
  readonly sourceEndMs: number | null;
}

/** Samples of one block, from `begin` to before `end`. */
interface AudioPart {
  readonly block: AudioBlock;
  readonly begin: number;
  readonly end: number;
}

/** A second of sound. Samples are appended and never changed, so snapshots share it. */
interface AudioBlock {
  readonly pcm: Int16Array;
  /** Number of its first sample, counted from the first one ever fed. */
  readonly first: number;
  /** How many samples it has. */
  used: number;
  /** Where in it each chunk ended, as it was fed. */
  readonly ends: number[];
  /** When the newest of its chunks was received. */
  ageMs: number;
}

/** When a chunk was received; the first sample's time on the sender's clock is `sourceMs`. */
interface ChunkTime extends Received {
  readonly sourceMs?: number | undefined;
}

const blockSamples = 16_000;
const blockBytes = blockSamples * 2;
/** After a pause of this length a new block begins, so that what came before it can get too old. */
const pauseMs = 1_000;
const samplesPerMs = audioRateHz / 1_000;

/** The last samples, trimmed by the sample. A snapshot copies none of them. */
export class AudioRing {
  readonly #limits: AudioLimits;
  #blocks: AudioBlock[] = [];
  #from = 0;
  #to = 0;
  #endMs = 0;
  #sourceEndMs: number | null = null;
  /** How many chunks came. */
  fed = 0;

  constructor(limits: AudioLimits) {
    this.#limits = limits;
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
    this.fed++;
    this.expire(ageMs);
    this.#endMs = monoMs;
    this.#sourceEndMs = sourceMs === undefined ? null : sourceMs + chunk.length / samplesPerMs;
    // The beginning of a chunk that is too long would be dropped at once.
    const skipped = Math.max(chunk.length - this.#limits.samples, 0);
    this.#to += skipped;
    if (skipped > 0) this.clear();
    for (let at = skipped; at < chunk.length; ) {
      const block = this.#blockFor(ageMs);
      const count = Math.min(chunk.length - at, blockSamples - block.used);
      writePcm(chunk, at, at + count, block.pcm, block.used);
      at += count;
      this.#to += count;
      block.used += count;
      block.ageMs = ageMs;
      if (at === chunk.length) block.ends.push(block.used);
    }
    const oldest = this.#blocks.at(-mostBlocks(this.#limits.samples))?.first ?? 0;
    this.#dropBefore(Math.max(this.#to - this.#limits.samples, oldest));
  }

  /** Drops sound of which the newest was received longer ago than the limit, by about a second. */
  expire(nowAgeMs: number): void {
    const kept = this.#blocks.find(({ ageMs }) => nowAgeMs - ageMs <= this.#limits.ageMs);
    this.#dropBefore(kept?.first ?? this.#to);
  }

  /** Holds the samples from `since` on, or all. */
  snapshot(since = 0): AudioSnapshot {
    const from = Math.min(Math.max(since, this.#from), this.#to);
    const parts = this.#blocks
      .map((block) => ({ block, begin: Math.max(from - block.first, 0), end: block.used }))
      .filter(({ begin, end }) => begin < end);
    return { parts, from, to: this.#to, endMs: this.#endMs, sourceEndMs: this.#sourceEndMs };
  }

  /** Forgets all sound, at once. */
  clear(): void {
    this.#dropBefore(this.#to);
  }

  /** The last block, or a new one when that is full or nothing was added to it for a second. */
  #blockFor(ageMs: number): AudioBlock {
    const last = this.#blocks.at(-1);
    const isOpen = last !== undefined && last.used < blockSamples && ageMs - last.ageMs < pauseMs;
    if (isOpen) return last;
    const pcm = new Int16Array(blockSamples);
    const block = { pcm, first: this.#to, used: 0, ends: [], ageMs };
    this.#blocks.push(block);
    return block;
  }

  #dropBefore(from: number): void {
    this.#from = Math.max(this.#from, from);
    const kept = this.#blocks.findIndex(({ first, used }) => first + used > this.#from);
    if (kept !== 0) this.#blocks.splice(0, kept < 0 ? this.#blocks.length : kept);
  }
}

/** Blocks that samples take: the first one is trimmed, and the last one is not full. */
const mostBlocks = (samples: number): number => Math.ceil(samples / blockSamples) + 2;

/** Most bytes that a ring of this many samples holds. */
export const audioBytesOf = (samples: number): number => mostBlocks(samples) * blockBytes;

/** How many chunks, as they were fed, reach into it. */
export function chunksIn({ parts }: AudioSnapshot): number {
  const counts = parts.map(({ block: { ends, used }, begin, end }) => {
    const isWhole = begin === 0 && end === used;
    return isWhole ? ends.length : ends.filter((at) => at > begin && at <= end).length;
  });
  return counts.reduce((sum, count) => sum + count, 0);
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
export function audioRef({ parts, from, to }: AudioSnapshot): AudioRef {
  const pcm = parts.map(({ block, begin, end }) => block.pcm.subarray(begin, end));
  return { pcm, samples: to - from };
}

/** Two snapshots as one, if the second continues where the first ends; else the first. */
export function joined(first: AudioSnapshot, second: AudioSnapshot): AudioSnapshot {
  if (second.from === second.to || second.from !== first.to) return first;
  return { ...second, from: first.from, parts: [...first.parts, ...second.parts] };
}
