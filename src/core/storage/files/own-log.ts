// Telling what may be left of a log of ours from a file of somebody else, where no commit holds.

import type { DiskFile } from "../disk/disk.ts";
import { reachBytes, readExactly } from "./batch-reader.ts";
import {
  beginsWithHeader,
  holdsCommitLine,
  holdsPartOfBatch,
  isHalfHeader,
  refuseNewerHeader,
} from "./commit.ts";

/**
 * Whether a file in which no commit holds may be ours, so that its bytes may be set aside.
 *
 * The journal completes what a crash left of a first batch. What there is without a commit is then:
 * - a log that was damaged later: its header is there or half of it, or a commit line that does not
 *   hold;
 * - a first batch that was not synced (durability `"process"`). A power cut keeps any of its
 *   sectors; the others are NUL, or cut off. The header lies in the first one: where that is NUL,
 *   the start of a record line or the end of a commit line shows whose the rest is; or nothing but
 *   NUL is left.
 *
 * Everything else is somebody else's, however it begins: a byte order mark, a blank line, a table. So
 * is what is left of an unsynced batch where a disk put garbage in the place of its first sector, or
 * kept only sectors from the middle of a record: that cannot be recognized.
 *
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`: a later version wrote it.
 */
export async function mayBeOurs(file: DiskFile, size: number): Promise<boolean> {
  const start = await startOf(file, size);
  refuseNewerHeader(start);
  if (isOurs(start) || (start[0] === 0 && holdsPartOfBatch(start))) return true;
  return size <= reachBytes && isHalfHeader(withoutNuls(start));
}

/** Whether a file is a log of ours beyond doubt, of this version or a later one, whole or damaged. */
export async function isSurelyOurs(file: DiskFile): Promise<boolean> {
  return isOurs(await startOf(file, await file.size()));
}

/** As much as the first batch can be. */
function startOf(file: DiskFile, size: number): Promise<Buffer> {
  return readExactly(file, 0, Math.min(size, reachBytes));
}

function isOurs(start: Buffer): boolean {
  return beginsWithHeader(start) || holdsCommitLine(start);
}

/** The bytes without the NUL bytes at their end. */
function withoutNuls(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return bytes.subarray(0, end);
}
