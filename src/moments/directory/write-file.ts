import { createHash } from "node:crypto";
import type { Disk, DiskFile } from "../../core/storage/disk/disk.ts";
import { writeAll } from "../../core/storage/files/file-ports.ts";
import { SyncFailed } from "./disk-errors.ts";

/** Bytes in pieces, from memory or from a disk. Nobody changes a piece once it was given. */
export type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

export interface Written {
  readonly bytes: number;
  /** SHA-256 of what was given, 64 hex digits: never of what could be read back. */
  readonly sha256: string;
}

/**
 * Makes a file that was not there. Its data are on the disk when it resolves; its name is not, until
 * the directory is synced. After a failure something of it may be left.
 *
 * @throws SyncFailed when the disk took the bytes and then could not keep them.
 */
export async function writeFile(
  disk: Disk,
  path: string,
  pieces: Pieces,
  sha256?: string,
): Promise<Written> {
  const file = await disk.open(path, "create");
  const hash = sha256 === undefined ? createHash("sha256") : undefined;
  let bytes = 0;
  let last: Uint8Array | undefined;
  try {
    for await (const piece of pieces) {
      if (last !== undefined) hash?.update(last);
      await writeAll(file, piece, bytes);
      bytes += piece.length;
      last = piece;
    }
    // The last piece, for a picture the only one, is hashed while the disk is busy with it.
    const syncing = sync(() => file.sync());
    if (last !== undefined) hash?.update(last);
    await syncing;
  } finally {
    await closeAnyway(file);
  }
  return { bytes, sha256: sha256 ?? hash?.digest("hex") ?? "" };
}

/** Syncs, and marks a failure as what it is: never to be tried again on the same file. */
export async function sync(call: () => Promise<void>): Promise<void> {
  try {
    await call();
  } catch (cause) {
    throw new SyncFailed("a sync failed", { cause });
  }
}

/** Closing tells of lost data where nothing was synced; here it was, or the file is thrown away. */
async function closeAnyway(file: DiskFile): Promise<void> {
  await file.close().catch(() => undefined);
}
