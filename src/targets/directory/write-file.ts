import { createHash, type Hash } from "node:crypto";
import type { Disk, DiskFile } from "../../storage/files/disk.ts";
import { writeAll } from "../../storage/files/file-ports.ts";
import { SyncFailed } from "./disk-errors.ts";

/** Bytes in pieces, from memory or from a disk. Nobody changes a piece once it was given. */
export type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

export interface Written {
  readonly bytes: number;
  /** SHA-256 of what was given, 64 hex digits: never of what could be read back. */
  readonly sha256: Promise<string>;
}

/** Smaller ones are hashed at once: handing them to another thread and back takes as long. */
const smallHash = 16 * 1024;

/**
 * Makes a file that was not there. Its data are on the disk when it resolves; its name is not, until
 * the directory is synced. After a failure something of it may be left.
 *
 * A file in one piece, as each picture is, is hashed on another thread while the disk is busy: on a
 * quick disk hashing all of a package here would take as long as a third of the writing.
 *
 * @throws SyncFailed when the disk took the bytes and then could not keep them.
 */
export async function writeFile(disk: Disk, path: string, pieces: Pieces): Promise<Written> {
  const file = await disk.open(path, "create");
  const hash = new PieceHash();
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      await writeAll(file, piece, bytes);
      hash.add(piece);
      bytes += piece.length;
    }
    const syncing = sync(() => file.sync());
    const sha256 = hash.digest();
    await syncing;
    return { bytes, sha256 };
  } finally {
    await closeAnyway(file);
  }
}

class PieceHash {
  #only: Uint8Array = new Uint8Array(0);
  #hash: Hash | undefined;

  add(piece: Uint8Array): void {
    if (this.#hash === undefined && this.#only.length === 0) {
      this.#only = piece;
      return;
    }
    this.#hash ??= createHash("sha256").update(this.#only);
    this.#hash.update(piece);
  }

  async digest(): Promise<string> {
    if (this.#hash !== undefined) return this.#hash.digest("hex");
    const only = this.#only;
    if (only.length < smallHash) return createHash("sha256").update(only).digest("hex");
    const bytes = only as Uint8Array<ArrayBuffer>;
    return Buffer.from(await globalThis.crypto.subtle.digest("SHA-256", bytes)).toString("hex");
  }
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
