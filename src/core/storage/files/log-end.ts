// Where a log ends; and what may be left of a log of ours, told from a file of somebody else, where no commit holds.

import { corrupt } from "../../errors.ts";
import type { DiskFile } from "../disk/disk.ts";
import { batchesBackward, reachBytes, readExactly } from "./batch-reader.ts";
import {
  beginsWithHeader,
  headOf,
  holdsCommitLine,
  holdsPartOfBatch,
  isHalfHeader,
  type LogEnd,
  noEnd,
  refuseNewerHeader,
} from "./commit.ts";
import type { HomePorts, NewReport } from "./file-ports.ts";

/**
 * Finds where a log ends. Bytes after its last valid commit are copied to quarantine, cut off and reported.
 *
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`, `THROUGHLINE_CORRUPT` (another log's file, or none of ours).
 */
export async function settleEnd(
  ports: Pick<HomePorts, "guard" | "quarantine"> & { report(report: NewReport): void },
  file: DiskFile,
  { path, key }: { readonly path: string; readonly key: string },
): Promise<{ readonly stored: LogEnd; readonly damaged: boolean }> {
  const size = await file.size();
  let found = { stored: noEnd, damaged: false };
  for await (const item of batchesBackward(file, size)) {
    if (item.kind === "damage") continue;
    const { headJson, damaged, ...head } = headOf(item.line);
    if (head.key !== key)
      throw corrupt(`the file of ${key} holds another log; it was left as it is`);
    const { seq, crc } = item.commit;
    found = { stored: { seq, end: item.end, crc, headJson }, damaged };
    break;
  }
  const { seq, end } = found.stored;
  if (end === 0 && size > 0 && !(await mayBeOurs(file, size))) {
    const reason = "another program wrote this file; it was left as it is, and can be imported";
    ports.report({ key, kind: "foreign_lines", bytes: size, after_seq: 0, reason });
    throw corrupt(`${key}: ${reason}`);
  }
  if (end === size) return found;
  const bytes = size - end;
  ports.guard();
  const quarantined = await ports.quarantine(path, file, end, size);
  await file.truncate(end);
  const reason = `${bytes} bytes after the last commit were set aside`;
  ports.report({ key, kind: "torn_tail", bytes, after_seq: seq, quarantined, reason });
  return found;
}

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
  const end = start.findLastIndex((byte) => byte !== 0) + 1;
  return size <= reachBytes && isHalfHeader(start.subarray(0, end));
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
