import { createHash } from "node:crypto";
import { join } from "node:path";
import { concurrently } from "../../core/concurrently.ts";
import type { Disk, DiskFile } from "../../core/storage/disk/disk.ts";
import { makeDirectory, writeAll } from "../../core/storage/files/file-ports.ts";
import {
  type FileEntry,
  type Manifest,
  sealRecord,
  writeManifest,
} from "../package/package-format.ts";
import {
  foldersOf,
  manifestFile,
  mediaTypeOf,
  type PackageContent,
  type PackagePart,
  type Pieces,
} from "./content.ts";
import { isGone, SyncFailed } from "./disk-errors.ts";
import { type PackagePorts, secondsNow } from "./ports.ts";

/** Files written at once: 4 took half the time of one, and more took no less. */
const filesAtOnce = 4;

/**
 * Writes a package into a folder that does not exist yet: each file synced, the manifest last, then
 * the names. A reader that sees the manifest sees a whole package. The folder itself has no durable
 * name yet when it resolves: that is `publish`.
 *
 * @throws SyncFailed when the disk could not keep something: this folder is never to be trusted.
 */
export async function writePackage(
  ports: PackagePorts,
  content: PackageContent,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<Manifest> {
  const { disk } = ports;
  const files = new Map<string, FileEntry>();
  const write = async (part: PackagePart) => {
    signal?.throwIfAborted();
    const written = await writeFile(disk, join(folder, part.path), part.pieces(), part.sha256);
    files.set(part.path, { path: part.path, ...written, media_type: mediaTypeOf(part.path) });
  };
  await makeFolder(ports, folder);
  for (const inner of foldersOf(content.parts)) await disk.mkdir(join(folder, inner));
  await concurrently(content.parts, filesAtOnce, write);
  signal?.throwIfAborted();
  const manifest = sealRecord(content.record, {
    sealed_timestamp: content.sealedTimestamp ?? secondsNow(ports.clock),
    files: content.parts.flatMap(({ path }) => files.get(path) ?? []),
  });
  await writeFile(disk, join(folder, manifestFile), [writeManifest(manifest)]);
  await syncFolder(disk, folder, content.parts);
  return manifest;
}

async function makeFolder({ disk, path }: PackagePorts, folder: string): Promise<void> {
  try {
    await disk.mkdir(folder);
  } catch (error) {
    if (!isGone(error)) throw error;
    await makeDirectory(disk, path); // somebody removed it while it was open
    await disk.mkdir(folder);
  }
}

/** Makes the names in a package's folder durable. */
export async function syncFolder(
  disk: Disk,
  folder: string,
  files: readonly { readonly path: string }[],
): Promise<void> {
  for (const inner of foldersOf(files)) await sync(() => disk.syncDirectory(join(folder, inner)));
  await sync(() => disk.syncDirectory(folder));
}

/** Gives a folder that is written and synced the name by which it is a package, for good. */
export async function publish(ports: PackagePorts, folder: string, name: string): Promise<void> {
  ports.guard();
  await ports.disk.rename(folder, join(ports.path, name));
  await sync(() => ports.disk.syncDirectory(ports.path));
}

/**
 * Makes a file that was not there. Its data are on the disk when it resolves; its name is not, until
 * the directory is synced. After a failure something of it may be left.
 *
 * @returns the SHA-256 of what was given: never of what could be read back.
 * @throws SyncFailed when the disk took the bytes and then could not keep them.
 */
async function writeFile(
  disk: Disk,
  path: string,
  pieces: Pieces,
  sha256?: string,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
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
