// Preallocated space at the end of a log. Most of what a sync costs is not the bytes: where a file grew, the file system
// also has to note how long it is and where the new blocks lie. Written into space that was synced before,
// the same bytes are durable in two thirds of the time.

import { blockBytes, type DiskFile } from "../disk/disk.ts";
import { readExactly } from "./batch-reader.ts";

/** How much is preallocated at a time: some forty turns. */
const preallocatedBytes = 16 * blockBytes;

/** The preallocated space at the end of one open log. */
export class PreallocatedSpace {
  readonly #file: DiskFile;
  /** Where it ends, a multiple of the block, so that it is known again; 0: there is none. */
  #end = 0;

  constructor(file: DiskFile) {
    this.#file = file;
  }

  /** Whether a log that ends at `end` ends in the preallocated space. */
  reaches(end: number): boolean {
    return end <= this.#end;
  }

  /**
   * Preallocates space after a log that ends at `end` and is synced next: one sync is enough for both.
   * Never rejects: without it an append takes longer, and that is all.
   */
  async make(end: number): Promise<void> {
    const newEnd = Math.ceil(end / blockBytes) * blockBytes + preallocatedBytes;
    try {
      await this.#file.extend(end, newEnd);
      this.#end = newEnd;
    } catch {
      // A part of it may be there. Others may need the space on the disk.
      await this.#file.truncate(end).catch(() => undefined);
    }
  }

  /** There is preallocated space up to `end`, from a process that died. */
  take(end: number): void {
    this.#end = end;
  }

  /**
   * Cuts off the preallocated space after a log that ends at `end`. Nothing is made durable: what is there again after
   * a power cut is cut off when the log is opened.
   */
  async trim(end: number): Promise<void> {
    if (this.#end <= end) return;
    this.#end = 0;
    await this.#file.truncate(end);
  }
}

/**
 * Where the bytes end that somebody wrote after `end`, in a file of this size: before NUL bytes that are
 * the preallocated space of a log. NUL bytes that cannot be that count as written.
 */
export async function endBeforePreallocated(
  file: DiskFile,
  end: number,
  size: number,
): Promise<number> {
  if (size % blockBytes !== 0) return size;
  const from = Math.max(end, size - preallocatedBytes - blockBytes);
  return from + withoutNuls(await readExactly(file, from, size - from)).length;
}

/** The bytes without the NUL bytes at their end. */
export function withoutNuls(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return bytes.subarray(0, end);
}
