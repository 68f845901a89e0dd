import { join } from "node:path";
import { ThroughlineError } from "../../core/errors.ts";
import { makeDirectory } from "../../core/storage/files/file-ports.ts";
import {
  type PackageRecord,
  renameMoment,
  type Saved,
  SaveError,
  type SealedMoment,
} from "../package/package-format.ts";
import { type MemoryPart, type PackageContent, type PartNote, partsOf } from "./content.ts";
import {
  codeOf,
  diskCause,
  failureOf,
  isCrowded,
  isFull,
  isGone,
  SyncFailed,
} from "./disk-errors.ts";
import { intentBytes } from "./intent.ts";
import { endings } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { readFolder } from "./read-package.ts";
import { make, noteSaved } from "./recover.ts";
import { isThere, removeTree } from "./remove-tree.ts";
import type { IsEnough } from "./retention.ts";
import { estimateBytes, missingBytes, type SpaceRule } from "./space.ts";
import { verifyFolder } from "./verify.ts";
import { sync } from "./write-file.ts";
import { publish, writePackage } from "./write-package.ts";

export interface SavePorts extends PackagePorts, SpaceRule {
  /** Makes room until it is enough. @returns whether it is; false where nothing may be removed. */
  evict(isEnough: IsEnough): Promise<boolean>;
  /** Whether what there is of a moment is all that will be left of it. */
  mustKeep(name: string): boolean;
}

/** The first attempt, and one after a failure that an attempt from the start can mend. */
const attempts = 3;
/** Names are 48 random bits: a second one that is taken means that something else is wrong. */
const maxNames = 4;

/** Writes a redacted moment as a package. Rejects with a `SaveError`, or with the signal's reason. */
export async function savePackage(
  ports: SavePorts,
  moment: SealedMoment,
  signal: AbortSignal | undefined,
): Promise<Saved> {
  let named: SealedMoment | undefined;
  try {
    const free = await withFreeName(ports, moment);
    if (free === "saved") return { name: moment.record.name };
    named = free;
    const parts = partsOf(named);
    await makeRoom(ports, named.record, parts);
    await ports.owed?.saving(named.record);
    await attempt(ports, named, parts, signal);
  } catch (error) {
    if (named !== undefined) await drop(ports, named.record.name);
    if (signal?.aborted === true) throw signal.reason;
    throw error instanceof SaveError ? error : failed(error);
  }
  const { name } = named.record;
  await noteSaved(ports, name);
  return { name };
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

async function occupantOf(
  ports: PackagePorts,
  { name, uuid }: SealedMoment["record"],
): Promise<"none" | "this" | "another"> {
  const { disk } = ports;
  const folder = join(ports.path, name);
  if (await isThere(disk, folder)) {
    const { manifest } = await readFolder(disk, folder, name);
    if (manifest?.uuid !== uuid) return "another";
    // A damaged one is not the answer; the new one gets another name beside it.
    return (await verifyFolder(disk, folder, name)).state === "whole" ? "this" : "another";
  }
  const partial = folder + endings.partial;
  if (await isThere(disk, partial)) {
    // Only an attempt for this moment can have left it: recovery leaves none.
    await removeTree(disk, partial);
  }
  // A spill of this name is this moment too: the package, once there, takes its place.
  for (const ending of [endings.deleting, endings.salvaging, endings.status]) {
    if (await isThere(disk, folder + ending)) return "another";
  }
  return "none";
}

/**
 * Writes a package whose parts lie elsewhere and stay there, so that nothing need be finished after a
 * crash. @returns false: it was there.
 */
export async function saveCopy(ports: SavePorts, content: PackageContent): Promise<boolean> {
  const { record, parts } = content;
  const occupant = await occupantOf(ports, record);
  if (occupant === "this") return false;
  if (occupant === "another") {
    throw new ThroughlineError(`${record.name} is there, and damaged: repair or delete it`, {
      code: "THROUGHLINE_CORRUPT",
    });
  }
  await makeRoom(ports, record, parts);
  ports.guard();
  await make(ports, record.name, content);
  return true;
}

async function makeRoom(
  ports: SavePorts,
  record: PackageRecord,
  parts: readonly PartNote[],
): Promise<void> {
  const isLabel = record.reduced === "disk_full";
  const needed = estimateBytes(parts);
  const fits = async () => (await missingBytes(ports, ports.path, needed, isLabel)) === 0;
  if (!(await fits()) && !(await ports.evict(fits))) throw new SaveError("disk_full");
}

async function attempt(
  ports: SavePorts,
  { record, sealedTimestamp }: SealedMoment,
  parts: readonly MemoryPart[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const intent = await intentBytes(record, parts);
  const content = { record, parts, salvaged: false, spilled: false, sealedTimestamp };
  const partial = join(ports.path, record.name + endings.partial);
  for (let count = 1; ; count++) {
    try {
      ports.guard();
      const lanes = count === 1 ? ports.lanes : 1;
      await writePackage(ports, content, partial, { intent, lanes, signal });
      await publish(ports, partial, record.name);
      return;
    } catch (error) {
      const isStopped = signal?.aborted === true;
      // Stopped because it is forgotten, or because it was spilled: unless the spill failed.
      if (!isStopped || !ports.mustKeep(record.name)) await throwAway(ports, record.name);
      if (isStopped || count === attempts || !(await isWorthAnother(ports, error, parts)))
        throw error;
    }
  }
}

/** Whether the same moment, from the start, can succeed where this attempt failed. */
async function isWorthAnother(
  ports: SavePorts,
  error: unknown,
  parts: readonly MemoryPart[],
): Promise<boolean> {
  if (isFull(diskCause(error))) {
    const needed = estimateBytes(parts);
    return ports.evict((gained) => gained >= needed);
  }
  if (error instanceof SyncFailed || isCrowded(error)) return true;
  if (!isGone(error)) return false;
  await makeDirectory(ports.disk, ports.path); // somebody removed it under us
  return true;
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
    if ((await removeTree(disk, partial)) !== undefined) await disk.syncDirectory(path);
  } catch (error) {
    logger.warn(
      { package: name, error: codeOf(error) },
      "an unfinished package could not be removed",
    );
  }
}

async function drop(ports: PackagePorts, name: string): Promise<void> {
  await ports.owed?.dropped(name).catch((error) => {
    // An entry without a package is dropped by the next start.
    ports.logger.warn({ package: name, error: codeOf(error) }, "what is owed could not be noted");
  });
}

function failed(error: unknown): SaveError {
  return new SaveError(failureOf(diskCause(error)), { cause: diskCause(error) });
}
