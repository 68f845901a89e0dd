// What the files of a home share: ports, and the few moves that every protocol is made of.
import { basename, dirname } from "node:path";
import type { Clock } from "../../clock.ts";
import {
  isThroughlineError,
  outcomeUnknown,
  type ThroughlineError,
  unavailable,
} from "../../errors.ts";
import type { NewId } from "../../ids.ts";
import type { Logger } from "../../logger.ts";
import type { Timers } from "../../timers.ts";
import type { Disk, DiskFile } from "../disk/disk.ts";
import type { Durability, RepairReport } from "../storage.ts";
import { readExactly } from "./batch-reader.ts";
import type { FileIndex } from "./index.ts";

export type NewReport = Omit<RepairReport, "at">;

/** What names of files are changed with. */
export interface FilePorts {
  readonly disk: Disk;
  readonly newId: NewId;
  /** Directories in which a name was changed and whose sync failed: synced before anything counts. */
  readonly unsyncedNames: Set<string>;
  /** Throws when this process is no longer the writer of the home: called before a file is changed. */
  guard(): void;
}

/** What all stores of a home share; `openFileStorage` gives the ports of this machine. */
export interface HomePorts extends FilePorts {
  readonly home: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly durability: Durability;
  readonly index: FileIndex;
  /** Files kept open at most, in each collection. */
  readonly maxOpen: number;
  /** How long a segment of the journal gets. */
  readonly segmentBytes: number;
  /** When a name in a directory last changed, if the system says. */
  directoryChanged(path: string): string | undefined;
  /** Called once, when everything else is closed. */
  release(): Promise<void> | void;
  /** Keeps bytes of a file verbatim and durably. @returns the place, relative to the home. */
  quarantine(path: string, file: DiskFile, start: number, end: number): Promise<string>;
  /** Removes what quarantine keeps of a file. @returns how many files, and how many bytes they kept. */
  forgetQuarantine(path: string): Promise<{ readonly files: number; readonly bytes: number }>;
  report(collection: string, report: NewReport): void;
}

/** Writes all of it: the kernel may take less than it was given, without an error. */
export async function writeAll(file: DiskFile, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const rest = done === 0 ? bytes : bytes.subarray(done);
    const count = await file.write(rest, position + done);
    if (count === 0) throw noProgress();
    done += count;
  }
}

function noProgress(): Error {
  return Object.defineProperty(new Error("the disk took no byte"), "code", { value: "ENOSPC" });
}

/** A name for a file that is not there yet, which no start of this program leaves unswept. */
export function temporaryName(path: string, newId: NewId): string {
  return `${path}.tmp-${newId()}`;
}
/** Nothing else is swept: a home may be a folder in which others keep files of their own. */
export const isTemporaryName = (name: string): boolean =>
  name.includes(".tmp-") && /\.(?:jsonl?(?:\.bak)?|bytes)\.tmp-[0-9a-z]+$/.test(name);

/** Copies bytes of one open file to the start of another, in bounded memory. */
export async function copyBytes(
  from: DiskFile,
  start: number,
  end: number,
  to: DiskFile,
): Promise<void> {
  const step = 1024 * 1024;
  for (let at = start; at < end; at += step) {
    const bytes = await readExactly(from, at, Math.min(step, end - at));
    await writeAll(to, bytes, at - start);
  }
}

/**
 * Opens a file for writing that has no other name. One that has is replaced by a copy first: another home
 * may have it too, when one was made of the other with links, and what one writes would be in both.
 */
export async function openOwn(ports: FilePorts, path: string): Promise<DiskFile> {
  const file = await ports.disk.open(path, "write");
  try {
    if (file.placeAt(path) !== "linked") return file;
    ports.guard();
    const size = await file.size();
    await replaceLog(ports, path, (copy) => copyBytes(file, 0, size, copy));
  } catch (error) {
    await file.close().catch(() => undefined); // what failed before is the news
    throw error;
  }
  await file.close();
  return ports.disk.open(path, "write");
}

/**
 * Replaces a file whole: written beside it, synced, renamed into place, the directory synced. After
 * a failure or a power cut the old file is there, or the new one, never neither.
 */
export async function replaceFile(
  ports: FilePorts,
  path: string,
  fill: (file: DiskFile) => Promise<void>,
): Promise<void> {
  const { disk } = ports;
  const temporary = temporaryName(path, ports.newId);
  const file = await disk.open(temporary, "create");
  try {
    try {
      await fill(file);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    await disk.unlink(temporary).catch(() => undefined); // swept at the next start otherwise
    throw error;
  }
  try {
    await disk.rename(temporary, path);
  } catch (error) {
    // Where the new file still has its own name, the rename did not happen, whatever else is wrong.
    const isUnchanged = await unlinkIfThere(disk, temporary).catch(() => false);
    if (isUnchanged) throw error;
    ports.unsyncedNames.add(dirname(path));
    throw replacedPerhaps(error);
  }
  try {
    await syncNames(ports, dirname(path));
  } catch (error) {
    throw replacedPerhaps(error);
  }
}

/** The one name under which a log is rewritten: who removes the log removes that file too. */
export const logTemporary = (path: string): string => temporaryName(path, () => "0");

/** Replaces the file of a log. One call at a time for each log. */
export async function replaceLog(
  ports: FilePorts,
  path: string,
  fill: (file: DiskFile) => Promise<void>,
): Promise<void> {
  await unlinkIfThere(ports.disk, logTemporary(path));
  await replaceFile({ ...ports, newId: () => "0" }, path, fill);
}

/** What a deletion rejects with that may have happened, in part or whole. */
export function deletedPerhaps(key: string, cause: unknown): ThroughlineError {
  return outcomeUnknown(`${key} is perhaps deleted, perhaps not for good: delete it again`, cause);
}

function replacedPerhaps(cause: unknown): ThroughlineError {
  return outcomeUnknown("a file was replaced, but perhaps not for good", cause);
}

/** Makes the names in a directory durable; a failure is remembered, and made good before a commit. */
export async function syncNames(ports: FilePorts, directory: string): Promise<void> {
  ports.unsyncedNames.add(directory);
  await ports.disk.syncDirectory(directory);
  ports.unsyncedNames.delete(directory);
}

/** Creates a directory and every parent that is missing, each name durable. */
export async function makeDirectory(disk: Disk, path: string): Promise<void> {
  const parent = dirname(path);
  try {
    await disk.mkdir(path);
  } catch (error) {
    if (isCode(error, "EEXIST")) {
      // Perhaps made by a process that died before it could make the name durable. Above a home that
      // we may only pass through, somebody else made it.
      await disk.syncDirectory(parent).catch((failure) => {
        if (!isNotAllowed(failure)) throw failure;
      });
      return;
    }
    if (!isCode(error, "ENOENT") || parent === path) throw error;
    await makeDirectory(disk, parent);
    await disk.mkdir(path);
  }
  await disk.syncDirectory(parent);
}

export async function isThere(disk: Disk, path: string): Promise<boolean> {
  return (await disk.size(path).catch(unlessAbsent)) !== undefined;
}

/** Resolves with what is read of a file. `undefined`: it is not there. */
export async function readFrom<T>(
  disk: Disk,
  path: string,
  read: (file: DiskFile) => Promise<T>,
): Promise<T | undefined> {
  const file = await disk.open(path, "read").catch(unlessAbsent);
  try {
    return file && (await read(file));
  } finally {
    await file?.close();
  }
}

/** Reads bytes of a file, all of them by default; `undefined` where there is no file. */
export function readBytes(disk: Disk, path: string, start = 0, length?: number) {
  return readFrom(disk, path, async (file) =>
    readExactly(file, start, length ?? (await file.size())),
  );
}

/** Makes `undefined` of the error that something is not there. */
export function unlessAbsent(error: unknown): undefined {
  if (!isCode(error, "ENOENT")) throw error;
}

/**
 * Removes a file that may not be there. "Not there" is asked twice, because it is taken for "gone".
 *
 * @returns whether it was there.
 */
export async function unlinkIfThere(disk: Disk, path: string): Promise<boolean> {
  try {
    await disk.unlink(path);
    return true;
  } catch (error) {
    if (!isCode(error, "ENOENT")) throw error;
  }
  if (!(await isThere(disk, path))) return false;
  await disk.unlink(path);
  return true;
}

export function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return (
    typeof error === "object" &&
    error !== null &&
    "code" in error &&
    codes.some((code) => code === error.code)
  );
}

export const isFull = (error: unknown): boolean => isCode(error, "ENOSPC", "EDQUOT");

/** Does something that needs so many bytes: where the disk is full, again in the space of the index. */
export async function inSpaceOfIndex<T>(
  index: Pick<FileIndex, "makeRoomFor">,
  bytes: number,
  work: () => Promise<T>,
): Promise<T> {
  return work().catch((error) => {
    const again = isFull(error) ? index.makeRoomFor(bytes, work) : undefined;
    if (again === undefined) throw error;
    return again;
  });
}

/** This user may not do that there, and trying again does not help. */
export function isNotAllowed(error: unknown): boolean {
  return isCode(error, "EACCES", "EPERM", "EROFS");
}

/** What `Disk.open` refuses because it is no file, by the code that it gives then. */
const wrongKinds: ReadonlyMap<unknown, string> = new Map([
  ["ELOOP", "a link"],
  ["EISDIR", "a folder"],
  ["ENXIO", "a pipe, a socket or a device"],
]);

/** An error of the disk becomes one of ours; whatever could be half done was undone before. */
export function rethrow(key: string, error: unknown): never {
  if (isThroughlineError(error) || !isDiskError(error)) throw error;
  const kind = wrongKinds.get(error.code);
  if (kind !== undefined && error.path !== undefined) {
    const name = basename(String(error.path));
    throw unavailable(`${key}: ${name} is ${kind}, not a file: move it away`, error);
  }
  let hint = isFull(error) ? ": it is full. Make room on it" : "";
  if (isNotAllowed(error)) hint = ": see to the owner and the permissions of its file";
  throw unavailable(`${key}: the disk refused (${String(error.code)})${hint}`, error);
}

export function isDiskError(
  error: unknown,
): error is { readonly code: unknown; readonly path?: unknown } {
  return typeof error === "object" && error !== null && "errno" in error && "code" in error;
}

/** Whether a process runs that wrote its number into the name of a file or folder. */
export function isRunning(pid: number): boolean {
  // In a container each run has the same number: one with ours was an earlier one.
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return !isCode(error, "ESRCH");
  }
}
