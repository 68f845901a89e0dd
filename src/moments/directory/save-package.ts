import { createHash } from "node:crypto";
import { constants } from "node:os";
import { join } from "node:path";
import { concurrently } from "../../core/concurrently.ts";
import { ThroughlineError } from "../../core/errors.ts";
import { fillWithRandom } from "../../core/ids.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import {
  isCode,
  isFull,
  isNotAllowed,
  makeDirectory,
  writeAll,
} from "../../core/storage/files/file-ports.ts";
import {
  bytesIn,
  foldersOf,
  manifestFile,
  mediaTypeOf,
  type PackagePart,
  partsOf,
} from "../package/content.ts";
import { renameMoment, sealRecord, writeManifest } from "../package/manifest.ts";
import { makeUuidV7 } from "../package/package-name.ts";
import {
  type Saved,
  SaveError,
  type SaveFailure,
  type SealedMoment,
} from "../package/package-sink.ts";
import type { FileEntry, PackageRecord } from "../package/record.ts";
import { isHere, pathOf } from "./names.ts";
import { isInFlight, noteComing, readStatus, removeNote } from "./notes.ts";
import type { PackagePorts } from "./ports.ts";
import { codeOf } from "./read-package.ts";
import { removeTree } from "./remove.ts";
import { verifyFolder } from "./verify.ts";

/** Names are 48 random bits: a second one that is taken means that something else is wrong. */
const maxNames = 4;

/**
 * Writes a moment as a package: once, because the queue of moments tries again. Rejects with a
 * `SaveError`, or with the signal's reason; then nothing of it is left.
 */
export async function savePackage(
  ports: PackagePorts,
  moment: SealedMoment,
  signal: AbortSignal | undefined,
): Promise<Saved> {
  try {
    const free = await withFreeName(ports, moment);
    if (free !== "saved") await write(ports, free, signal);
    return { name: free === "saved" ? moment.record.name : free.record.name };
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason;
    if (error instanceof SaveError) throw error;
    throw new SaveError(failureOf(error), { cause: error });
  }
}

/** Writes a package under its own name or not at all. @returns false: it was there. */
export async function saveCopy(ports: PackagePorts, moment: SealedMoment): Promise<boolean> {
  const occupant = await occupantOf(ports, moment.record);
  if (occupant === "this") return false;
  if (occupant === "none") {
    await write(ports, moment, undefined);
    return true;
  }
  const says = `${moment.record.name} is already there, and damaged: delete it first`;
  throw new ThroughlineError(says, { code: "THROUGHLINE_CORRUPT" });
}

async function write(
  ports: PackagePorts,
  moment: SealedMoment,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { name } = moment.record;
  const parts = partsOf(moment);
  if (!(await hasSpace(ports, parts))) throw new SaveError("disk_full");
  ports.guard();
  try {
    await writePackage(ports, moment, parts, signal);
    // First what is to become of it, so that no package is ever one of which that is not known.
    const upload = await noteComing(ports, moment.record, bytesIn(parts));
    await publish(ports, name);
    if (upload !== undefined) ports.sender?.pending(name, "status", upload);
  } catch (error) {
    await throwAway(ports, name);
    throw error;
  }
}

/**
 * The moment under a name that nothing has. What has it may be this very moment, saved by an attempt
 * that did not know how it ended: then its name is made durable, and that is the answer.
 */
async function withFreeName(
  ports: PackagePorts,
  moment: SealedMoment,
): Promise<SealedMoment | "saved"> {
  let named = moment;
  for (let count = 0; count < maxNames; count++) {
    const occupant = await occupantOf(ports, named.record);
    if (occupant === "none") return named;
    if (occupant === "this") {
      await ports.disk.syncDirectory(ports.path);
      return "saved";
    }
    named = renameMoment(named, makeUuidV7(ports.clock.now(), fillWithRandom));
  }
  throw new Error("no name is free");
}

/** What has a name. A status of an upload from memory is that of this very moment: a start leaves none. */
export async function occupantOf(
  ports: PackagePorts,
  { name, uuid }: PackageRecord,
): Promise<"none" | "this" | "another"> {
  if (await isHere(ports, name)) {
    // A damaged one is not the answer; the new one gets another name beside it.
    const { state, manifest } = await verifyFolder(ports, name);
    return state === "whole" && manifest?.uuid === uuid ? "this" : "another";
  }
  // Only an attempt for this moment can have left a half: the start leaves none.
  if (await isHere(ports, name, "partial")) await removeHalf(ports, name);
  for (const as of ["deleting", "tombstone"] as const) {
    if (await isHere(ports, name, as)) return "another";
  }
  const isNoted = await isHere(ports, name, "status");
  const status = isNoted ? await readStatus(ports, name) : undefined;
  return !isNoted || (status && isInFlight(status)) ? "none" : "another";
}

/**
 * Removes what an attempt left, as far as the disk lets us. What stays is found by the next attempt
 * for this moment, or by the next start.
 */
async function throwAway(ports: PackagePorts, name: string): Promise<void> {
  try {
    const partial = pathOf(ports, name, "partial");
    if (await isHere(ports, name)) await ports.disk.rename(pathOf(ports, name), partial);
    if (await isHere(ports, name, "partial")) await removeHalf(ports, name);
  } catch (error) {
    const fields = { package: name, error: codeOf(error) };
    ports.logger.warn(fields, "an unfinished package could not be removed");
  }
}

/** The status first: it is that of the half as long as there is one. One of an upload from memory stays. */
async function removeHalf(ports: PackagePorts, name: string): Promise<void> {
  const status = await readStatus(ports, name);
  if (status && !isInFlight(status)) await removeNote(ports, name, "status");
  await removeTree(ports.disk, pathOf(ports, name, "partial"));
  await ports.disk.syncDirectory(ports.path);
}

/** What a file takes beside its bytes: half a block on average, its inode, its name. */
const fileBytes = 4_096;
/** The manifest: a fixed part, and what each file adds to it. */
const manifestBytes = 64 * 1024;
const entryBytes = 1_024;

/** Whether a package fits, by a generous estimate; also when that is not known. */
async function hasSpace(
  { freeSpace, minFreeBytes, logger, path }: PackagePorts,
  parts: readonly PackagePart[],
): Promise<boolean> {
  const files = bytesIn(parts) + parts.length * (fileBytes + entryBytes);
  const needed = Math.ceil((files + manifestBytes) * 1.1);
  try {
    return freeSpace === undefined || needed + minFreeBytes <= (await freeSpace(path));
  } catch (error) {
    const says = "how much space is left cannot be told; writing will show";
    logger.warn({ code: codeOf(error) }, says);
    return true;
  }
}

/** Files written at once: 4 took half the time of one, and more took no less. */
const filesAtOnce = 4;

/**
 * Writes a package into a folder that does not exist yet: each file synced, the manifest last, then
 * the names. A reader that sees the manifest sees a whole package. The folder itself has no durable
 * name yet when it resolves: that is `publish`.
 */
async function writePackage(
  ports: PackagePorts,
  { record }: SealedMoment,
  parts: readonly PackagePart[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const { disk } = ports;
  const folder = pathOf(ports, record.name, "partial");
  const files = new Map<string, FileEntry>();
  const write = async ({ path, pieces, bytes, ...part }: PackagePart) => {
    signal?.throwIfAborted();
    const sha256 = await writeFile(disk, join(folder, path), pieces, part.sha256);
    files.set(path, { path, bytes, sha256, media_type: mediaTypeOf(path) });
  };
  await makeFolder(ports, folder);
  for (const inner of foldersOf(parts)) await disk.mkdir(join(folder, inner));
  await concurrently(parts, filesAtOnce, write);
  signal?.throwIfAborted();
  const listed = parts.flatMap(({ path }) => files.get(path) ?? []);
  const manifest = sealRecord(record, listed);
  await writeFile(disk, join(folder, manifestFile), [writeManifest(manifest)]);
  await syncFolder(disk, folder, parts);
}

async function makeFolder({ disk, path }: PackagePorts, folder: string): Promise<void> {
  try {
    await disk.mkdir(folder);
  } catch (error) {
    if (!isCode(error, "ENOENT")) throw error;
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
  for (const inner of foldersOf(files)) await disk.syncDirectory(join(folder, inner));
  await disk.syncDirectory(folder);
}

/** Gives a half that is written and synced the name by which it is a package, for good. */
export async function publish(ports: PackagePorts, name: string): Promise<void> {
  ports.guard();
  await ports.disk.rename(pathOf(ports, name, "partial"), pathOf(ports, name));
  await ports.disk.syncDirectory(ports.path);
}

/**
 * Makes a file that was not there. Its data are on the disk when it resolves; its name is not, until
 * the directory is synced. After a failure something of it may be left.
 *
 * @returns the SHA-256 of what was given: never of what could be read back.
 */
async function writeFile(
  disk: Disk,
  path: string,
  pieces: readonly Uint8Array[],
  sha256?: string,
): Promise<string> {
  const file = await disk.open(path, "create");
  const hash = sha256 === undefined ? createHash("sha256") : undefined;
  try {
    let at = 0;
    for (const piece of pieces) {
      const writing = writeAll(file, piece, at);
      hash?.update(piece); // while the disk is busy with it
      await writing;
      at += piece.length;
    }
    await file.sync();
    return sha256 ?? hash?.digest("hex") ?? "";
  } finally {
    // Closing tells of lost data where nothing was synced; here it was, or the file is thrown away.
    await file.close().catch(() => undefined);
  }
}

/** What a failed disk call means for a package. */
function failureOf(error: unknown): SaveFailure {
  // Node has no name for EDQUOT and says "Unknown system error -122".
  const { errno } = (error ?? {}) as { readonly errno?: unknown };
  const isOver = errno === -constants.errno.EDQUOT || isCode(error, "EFBIG");
  if (isOver || isFull(error)) return "disk_full";
  return isNotAllowed(error) ? "read_only" : "io";
}
