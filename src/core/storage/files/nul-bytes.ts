// Version 0.1 preallocated space at the end of a log in use: NUL bytes, cut off when the log was closed.
import { blockBytes, type DiskFile } from "../disk/disk.ts";
import { readExactly } from "./batch-reader.ts";

/** The most that it preallocated at a time. */
const preallocatedBytes = 16 * blockBytes;

/**
 * Where the bytes end that somebody wrote after `end`, in a file of this size: before NUL bytes that are
 * the preallocated space of a log. NUL bytes that cannot be that count as written.
 */
export async function endBeforeNuls(file: DiskFile, end: number, size: number): Promise<number> {
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
