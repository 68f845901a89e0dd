// Saving a moment: written under a name by which it is no package, then renamed, for good.
import { constants } from "node:os";
import { join } from "node:path";
import { concurrently } from "../../core/concurrently.ts";
import { corrupt } from "../../core/errors.ts";
import {
  isCode,
  isFull,
  isNotAllowed,
  makeDirectory,
  writeAll,
} from "../../core/storage/files/file-ports.ts";
import { create } from "../../core/storage/files/new-folder.ts";
import { bytesIn, foldersOf, manifestFile, type PackagePart, partsOf } from "../package/content.ts";
import { sealRecord, writeManifest } from "../package/manifest.ts";
import {
  type Saved,
  SaveError,
  type SaveFailure,
  type SealedMoment,
} from "../package/package-sink.ts";
import type { PackageRecord } from "../package/record.ts";
import { codeOf, isHere, type PackagePorts, pathOf } from "./names.ts";
import { isInFlight, noteComing, readStatus, removeNote } from "./notes.ts";
import { verifyFolder } from "./read-package.ts";
import { removeTree } from "./remove.ts";

/**
 * Writes a moment as a package: once, because the queue of moments tries again. Rejects with a `SaveError`, or with
 * the signal's reason; then nothing of it is left.
 */
export async function savePackage(
  ports: PackagePorts,
  moment: SealedMoment,
  signal: AbortSignal | undefined,
): Promise<Saved> {
  try {
    const occupant = await occupantOf(ports, moment.record);
    if (occupant === "another") throw new SaveError("io");
    // Saved by an attempt that did not know how it ended: its name is made durable, and that is the answer.
    if (occupant === "this") await ports.disk.syncDirectory(ports.path);
    else await write(ports, moment, signal);
    return { name: moment.record.name };
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason;
    if (error instanceof SaveError) throw error;
    throw new SaveError(failureOf(error), { cause: error });
  }
}

/** Writes a package under its own name or not at all. @returns false: it was there. */
export async function saveCopy(ports: PackagePorts, moment: SealedMoment): Promise<boolean> {
  const occupant = await occupantOf(ports, moment.record);
  if (occupant === "none") await write(ports, moment, undefined);
  if (occupant !== "another") return occupant === "none";
  const says = `${moment.record.name} is already there, and damaged: delete it first`;
  throw corrupt(says);
}

/** What has a name. A status of an upload from memory is that of this very moment: a start leaves none. */
export async function occupantOf(
  ports: PackagePorts,
  { name, uuid }: PackageRecord,
): Promise<"none" | "this" | "another"> {
  if (await isHere(ports, name)) {
    // A damaged one is not the answer.
    const { state, manifest } = await verifyFolder(ports, name);
    return state === "whole" && manifest?.uuid === uuid ? "this" : "another";
  }
  // Only an attempt for this moment can have left a half: the start leaves none.
  if (await isHere(ports, name, "partial")) await removeHalf(ports, name);
  if (await isHere(ports, name, "tombstone")) return "another";
  if (!(await isHere(ports, name, "status"))) return "none";
  const status = await readStatus(ports, name);
  return status && isInFlight(status) ? "none" : "another";
}

/** Files written at once: 4 took half the time of one, and more took no less. */
const filesAtOnce = 4;

/**
 * Writes each file synced, the manifest last, then the names, then the name by which it is a package. A reader that
 * sees the manifest sees a whole package.
 */
async function write(
  ports: PackagePorts,
  moment: SealedMoment,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { disk, path, sender } = ports;
  const { record } = moment;
  const { name } = record;
  const parts = partsOf(moment);
  if (!(await hasSpace(ports, parts))) throw new SaveError("disk_full");
  ports.guard();
  const folder = pathOf(ports, name, "partial");
  try {
    await disk.mkdir(folder).catch(async (error) => {
      if (!isCode(error, "ENOENT")) throw error;
      await makeDirectory(disk, path); // somebody removed it while it was open
      await disk.mkdir(folder);
    });
    const writeFile = async (file: string, pieces: readonly Uint8Array[]) => {
      signal?.throwIfAborted();
      await create(disk, folder, file, async (opened) => {
        let at = 0;
        for (const piece of pieces) {
          await writeAll(opened, piece, at);
          at += piece.length;
        }
        await opened.sync();
      });
    };
    await concurrently(parts, filesAtOnce, (part) => writeFile(part.path, part.pieces));
    await writeFile(manifestFile, [writeManifest(sealRecord(record, parts))]);
    for (const inner of foldersOf(parts)) await disk.syncDirectory(join(folder, inner));
    await disk.syncDirectory(folder);
    // First what is to become of it, so that no package is ever one of which that is not known.
    const upload = await noteComing(ports, record, bytesIn(parts));
    ports.guard();
    await disk.rename(folder, pathOf(ports, name));
    await disk.syncDirectory(path);
    if (upload !== undefined) sender?.pending(name);
  } catch (error) {
    await throwAway(ports, name);
    throw error;
  }
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

/**
 * The status first: it is that of the half as long as there is one. One of an upload from memory stays, and one of
 * a copy in a bucket: the half is what is left of the copy that was here.
 */
async function removeHalf(ports: PackagePorts, name: string): Promise<void> {
  const status = await readStatus(ports, name);
  const isOfHalf = status?.uploaded.length === 0 && !isInFlight(status);
  if (isOfHalf) await removeNote(ports, name, "status");
  await removeTree(ports.disk, pathOf(ports, name, "partial"));
  await ports.disk.syncDirectory(ports.path);
}

/** Whether a package fits, by a generous estimate of manifest, blocks and names; also when that is not known. */
async function hasSpace(
  { freeSpace, logger, path }: PackagePorts,
  parts: readonly PackagePart[],
): Promise<boolean> {
  const needed = Math.ceil((bytesIn(parts) + parts.length * 5_120 + 65_536) * 1.1);
  try {
    return freeSpace === undefined || needed <= (await freeSpace(path));
  } catch (error) {
    const says = "how much space is left cannot be told; writing will show";
    logger.warn({ code: codeOf(error) }, says);
    return true;
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
