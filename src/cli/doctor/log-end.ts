import { setTimeout as wait } from "node:timers/promises";
import type { DiskFile } from "../../core/storage/disk/disk.ts";
import { batchesBackward } from "../../core/storage/files/batch-reader.ts";

/** A batch that is being written is whole after some milliseconds, even on a slow disk. */
const patience = { looks: 12, pauseMs: 20 } as const;

/**
 * Up to where a log is to be copied: the end of its last whole batch. A batch that is being written right
 * now was acknowledged to no one. Bytes after the last batch that stay as they are were not left by a write
 * under way: they belong to the copy, as damage that is there.
 *
 * @returns `undefined` if no batch of it can be read.
 */
export async function endOfLog(file: DiskFile): Promise<number | undefined> {
  const first = await lookAt(file);
  let now = first;
  for (let looks = 1; looks < patience.looks; looks++) {
    if (now.end === now.size) break;
    // What was incomplete at first is complete: what is incomplete now came later.
    if (now.end >= first.size) break;
    await wait(patience.pauseMs);
    now = await lookAt(file);
  }
  if (now.end === 0) return undefined;
  return now.end >= first.size ? now.end : now.size;
}

/** Its size, and where its last whole batch ends; 0 if there is none. */
async function lookAt(file: DiskFile) {
  const size = await file.size();
  for await (const item of batchesBackward(file, size)) {
    if (item.kind === "batch") return { size, end: item.end };
  }
  return { size, end: 0 };
}
