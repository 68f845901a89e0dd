import { join } from "node:path";
import { ThroughlineError } from "../../core/errors.ts";
import {
  type PackageRecord,
  renameMoment,
  type Saved,
  SaveError,
  type SealedMoment,
} from "../package/package-format.ts";
import { type PackageContent, type PartNote, partsOf } from "./content.ts";
import { codeOf, diskCause, failureOf } from "./disk-errors.ts";
import { endings } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { readFolder } from "./read-package.ts";
import { isThere, removeTree } from "./remove-tree.ts";
import { estimateBytes, missingBytes } from "./space.ts";
import { isInFlight, noteComing, readStatus, removeStatus } from "./status.ts";
import { verifyFolder } from "./verify.ts";
import { publish, sync, writePackage } from "./write-package.ts";

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
  let named: SealedMoment | undefined;
  try {
    const free = await withFreeName(ports, moment);
    if (free === "saved") return { name: moment.record.name };
    named = free;
    const { record, sealedTimestamp } = named;
    await write(ports, { record, parts: partsOf(named), sealedTimestamp }, signal);
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason;
    throw error instanceof SaveError ? error : failed(error);
  }
  return { name: named.record.name };
}

/** Writes a package whose parts lie elsewhere and stay there. @returns false: it was there. */
export async function saveCopy(ports: PackagePorts, content: PackageContent): Promise<boolean> {
  const { record } = content;
  const occupant = await occupantOf(ports, record);
  if (occupant === "this") return false;
  if (occupant === "another") {
    throw new ThroughlineError(`${record.name} is already there, and damaged: delete it first`, {
      code: "THROUGHLINE_CORRUPT",
    });
  }
  await write(ports, content, undefined);
  return true;
}

async function write(
  ports: PackagePorts,
  content: PackageContent,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { name } = content.record;
  await checkSpace(ports, content.parts);
  ports.guard();
  const partial = join(ports.path, name + endings.partial);
  try {
    await writePackage(ports, content, partial, signal);
    // First what is to become of it, so that no package is ever one of which that is not known.
    const bytes = content.parts.reduce((sum, part) => sum + part.bytes, 0);
    const upload = await noteComing(ports, content.record, bytes);
    await publish(ports, partial, name);
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
      await sync(() => ports.disk.syncDirectory(ports.path));
      return "saved";
    }
    named = renameMoment(named, ports.newUuid());
  }
  throw new Error("no name is free");
}

/** What has a name. A status of an upload from memory is that of this very moment: a start leaves none. */
export async function occupantOf(
  ports: PackagePorts,
  { name, uuid }: PackageRecord,
): Promise<"none" | "this" | "another"> {
  const { disk } = ports;
  const folder = join(ports.path, name);
  if (await isThere(disk, folder)) {
    const { manifest } = await readFolder(disk, folder, name);
    if (manifest?.uuid !== uuid) return "another";
    // A damaged one is not the answer; the new one gets another name beside it.
    return (await verifyFolder(disk, folder, name)).state === "whole" ? "this" : "another";
  }
  // Only an attempt for this moment can have left a half: the start leaves none.
  if (await isThere(disk, folder + endings.partial)) await removeHalf(ports, name);
  for (const ending of [endings.deleting, endings.tombstone]) {
    if (await isThere(disk, folder + ending)) return "another";
  }
  const isNoted = await isThere(disk, folder + endings.status);
  const status = isNoted ? await readStatus(ports, name) : undefined;
  return !isNoted || (status && isInFlight(status)) ? "none" : "another";
}

async function checkSpace(ports: PackagePorts, parts: readonly PartNote[]): Promise<void> {
  const missing = await missingBytes(ports, ports.path, estimateBytes(parts));
  if (missing > 0) throw new SaveError("disk_full");
}

/**
 * Removes what an attempt left, as far as the disk lets us. What stays is found by the next attempt
 * for this moment, or by the next start.
 */
async function throwAway(ports: PackagePorts, name: string): Promise<void> {
  const { disk, path, logger } = ports;
  const folder = join(path, name);
  const partial = folder + endings.partial;
  try {
    if (await isThere(disk, folder)) await disk.rename(folder, partial);
    if (await isThere(disk, partial)) await removeHalf(ports, name);
  } catch (error) {
    logger.warn(
      { package: name, error: codeOf(error) },
      "an unfinished package could not be removed",
    );
  }
}

/** The status first: it is that of the half as long as there is one. One of an upload from memory stays. */
async function removeHalf(ports: PackagePorts, name: string): Promise<void> {
  const status = await readStatus(ports, name);
  if (status && !isInFlight(status)) await removeStatus(ports, name);
  await removeTree(ports.disk, join(ports.path, name + endings.partial));
  await ports.disk.syncDirectory(ports.path);
}

function failed(error: unknown): SaveError {
  return new SaveError(failureOf(diskCause(error)), { cause: diskCause(error) });
}
