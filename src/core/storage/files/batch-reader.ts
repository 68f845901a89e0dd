// Reading a log in whole batches, in both directions, with damage named and never passed over.

import type { DiskFile } from "../disk/disk.ts";
import type { StoredRecord } from "../log-store.ts";
import { type Commit, decodeCommit, isSealed, lineBreak, refuseNewer } from "./commit.ts";

/** One batch whose seal was checked. */
export interface Batch {
  readonly kind: "batch";
  readonly start: number;
  readonly end: number;
  readonly commit: Commit;
  /** The commit line, without its line break, for `headOf`. */
  readonly line: Buffer;
  /** The record lines, the seed's metadata line included in the first batch. */
  readonly body: Buffer;
}

/** Bytes that belong to no valid batch, or (empty) a place where the chain of CRCs does not hold. */
export interface Damage {
  readonly kind: "damage";
  readonly start: number;
  readonly end: number;
  /** The last record that is readable before it. */
  readonly afterSeq: number;
}

const chunkBytes = 64 * 1024;
/** Reading forward often ends with the first batch. */
const firstChunk = 8 * 1024;
const largeChunk = 256 * 1024;
/** A batch is at most 8 MiB of records and 64 KiB of head: no commit reaches further back. */
export const reachBytes = 10 * 1024 * 1024;

/**
 * The batches that end at or before `end`, the last one first. Damage comes where it lies: before
 * the batch that precedes it. Needs time and memory for what is consumed, not for the file.
 */
export async function* batchesBackward(
  file: DiskFile,
  end: number,
): AsyncGenerator<Batch | Damage, void, undefined> {
  const window = new BackwardWindow(file, end);
  let damagedUpTo = end;
  let next: Batch | undefined;
  for (let at = end; at > 0; ) {
    const lineStart = await window.lineStart(at);
    const batch = await window.batchAt(lineStart, at);
    if (batch === undefined) {
      at = lineStart;
      continue;
    }
    const gap = damagedUpTo > batch.end;
    const broken = !gap && next !== undefined && next.commit.prev !== batch.commit.crc;
    if (gap || broken) {
      yield { kind: "damage", start: batch.end, end: damagedUpTo, afterSeq: batch.commit.seq };
    }
    yield batch;
    next = batch;
    at = batch.start;
    damagedUpTo = at;
    window.removeAfter(at);
  }
  const frontless = damagedUpTo === 0 && next !== undefined && next.commit.prev !== "";
  if (damagedUpTo > 0 || frontless)
    yield { kind: "damage", start: 0, end: damagedUpTo, afterSeq: 0 };
}

/** The bytes of a file before some offset, read in chunks as they are asked for. */
class BackwardWindow {
  readonly #file: DiskFile;
  #start: number;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(file: DiskFile, end: number) {
    this.#file = file;
    this.#start = end;
  }

  /** Where the line begins that ends right before `end` (its line break is the byte before). */
  async lineStart(end: number): Promise<number> {
    let searchEnd = end - 1;
    for (;;) {
      if (searchEnd > this.#start) {
        const found = this.#bytes.lastIndexOf(lineBreak, searchEnd - this.#start - 1);
        if (found >= 0) return this.#start + found + 1;
      }
      if (this.#start === 0) return 0;
      // Without a line break so far back, there is no commit line either: go on from here.
      if (end - this.#start > reachBytes) return this.#start;
      searchEnd = Math.min(end - 1, this.#start);
      await this.#extend(this.#start - 1);
    }
  }

  /** The batch whose commit line is at `lineStart`..`lineEnd`, if it is one and its seal holds. */
  async batchAt(lineStart: number, lineEnd: number): Promise<Batch | undefined> {
    await this.#extend(lineStart);
    if (this.#bytes[lineEnd - 1 - this.#start] !== lineBreak) return undefined;
    const commit = decodeCommit(this.#slice(lineStart, lineEnd - 1));
    if (commit === undefined || commit.bytes > lineStart || commit.bytes > reachBytes) {
      return undefined;
    }
    const start = lineStart - commit.bytes;
    await this.#extend(start);
    return sealedBatch(this.#slice(start, lineEnd), start, commit);
  }

  removeAfter(end: number): void {
    this.#bytes = this.#bytes.subarray(0, Math.max(0, end - this.#start));
    if (end < this.#start) this.#start = end;
  }

  #slice(start: number, end: number): Buffer {
    return this.#bytes.subarray(start - this.#start, end - this.#start);
  }

  async #extend(to: number): Promise<void> {
    if (to >= this.#start) return;
    // At least a chunk, and twice what is there, so that a long line is not copied again and again.
    const from = Math.max(0, Math.min(to, this.#start - Math.max(chunkBytes, this.#bytes.length)));
    const more = await readExactly(this.#file, from, this.#start - from);
    this.#bytes = this.#bytes.length === 0 ? more : Buffer.concat([more, this.#bytes]);
    this.#start = from;
  }
}

/**
 * The batches from `start` (the start of a batch) up to `end`, the first one first, with damage in
 * its place. `prev` is the CRC of the batch before `start`, when it is known.
 */
export async function* batchesForward(
  file: DiskFile,
  start: number,
  end: number,
): AsyncGenerator<Batch | Damage, void, undefined> {
  let bytes: Buffer = Buffer.alloc(0);
  let bytesStart = start; // offset of bytes[0]
  let expected = start; // where the next batch has to begin
  let lineStart = start;
  let afterSeq = 0;
  let prev: string | undefined = start === 0 ? "" : undefined;
  let step = firstChunk;
  for (let read = start; read < end; ) {
    const chunk = await readExactly(file, read, Math.min(step, end - read));
    if (chunk.length === 0) break;
    read += chunk.length;
    step = largeChunk;
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    for (;;) {
      const found = bytes.indexOf(lineBreak, lineStart - bytesStart);
      if (found < 0) break;
      const lineEnd = bytesStart + found + 1;
      const batch = batchIn(bytes, bytesStart, lineStart, lineEnd);
      lineStart = lineEnd;
      if (batch === undefined || batch.start < expected) continue;
      const broken = batch.start === expected && prev !== undefined && batch.commit.prev !== prev;
      if (batch.start > expected || broken) {
        yield { kind: "damage", start: expected, end: batch.start, afterSeq };
      }
      yield batch;
      expected = batch.end;
      afterSeq = batch.commit.seq;
      prev = batch.commit.crc;
    }
    const keepFrom = Math.max(expected, lineStart - reachBytes, bytesStart);
    bytes = bytes.subarray(keepFrom - bytesStart);
    bytesStart = keepFrom;
  }
  if (expected < end) yield { kind: "damage", start: expected, end, afterSeq };
}

function batchIn(
  bytes: Buffer,
  bytesStart: number,
  lineStart: number,
  lineEnd: number,
): Batch | undefined {
  const commit = decodeCommit(bytes.subarray(lineStart - bytesStart, lineEnd - bytesStart - 1));
  if (commit === undefined) return undefined;
  const start = lineStart - commit.bytes;
  if (start < bytesStart) return undefined;
  return sealedBatch(bytes.subarray(start - bytesStart, lineEnd - bytesStart), start, commit);
}

function sealedBatch(bytes: Buffer, start: number, commit: Commit): Batch | undefined {
  if (!isSealed(bytes, commit.crc)) return undefined;
  refuseNewer(commit.format);
  return batchOf(bytes, start, commit);
}

function batchOf(bytes: Buffer, start: number, commit: Commit): Batch {
  const body = bytes.subarray(0, commit.bytes);
  const line = bytes.subarray(commit.bytes, -1);
  return { kind: "batch", start, end: start + bytes.length, commit, body, line };
}

/** The batch that these bytes are, at this offset of a log. Their seal was checked. */
export function batchAt(bytes: Buffer, start: number): Batch | undefined {
  const lineStart = bytes.lastIndexOf(lineBreak, bytes.length - 2) + 1;
  const commit = decodeCommit(bytes.subarray(lineStart, -1));
  return commit?.bytes === lineStart ? batchOf(bytes, start, commit) : undefined;
}

/** The records of a batch, first one first. The seal holds, so every line is what we wrote. */
export function recordsOf(batch: Pick<Batch, "start" | "body">): StoredRecord[] {
  const records: StoredRecord[] = [];
  let from = batch.start === 0 ? batch.body.indexOf(lineBreak) + 1 : 0;
  while (from < batch.body.length) {
    const to = batch.body.indexOf(lineBreak, from);
    records.push(JSON.parse(batch.body.toString("utf8", from, to)) as StoredRecord);
    from = to + 1;
  }
  return records;
}

/** Reads `length` bytes from `position`, or what there is of them. */
export async function readExactly(
  file: DiskFile,
  position: number,
  length: number,
): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const count = await file.read(bytes.subarray(done), position + done);
    if (count === 0) break;
    done += count;
  }
  return bytes.subarray(0, done);
}
