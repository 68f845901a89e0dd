// A folder that is filled under another name beside its own, and appears whole by one rename.
import { lstat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { unlessAbsent } from "../../cli/doctor/home-files.ts";
import { Failed, isErrno } from "../../cli/failure.ts";
import { randomId } from "../../core/ids.ts";
import type { Disk, DiskFile } from "../../core/storage/disk/disk.ts";
import { isCode, isRunning, makeDirectory } from "../../core/storage/files/file-ports.ts";

/**
 * Fills a new folder, whose files must be synced then, and makes it appear at its place. Removes what killed runs
 * for the same place left, and what this one wrote if it fails. Of two at once the first to end has the place.
 *
 * @param word tells what such a folder is from: `backup.partial-…`.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something is there by now. `THROUGHLINE_CONFIGURATION`
 */
export async function newFolder<T>(
  disk: Disk,
  target: string,
  word: string,
  fill: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = await begin(disk, target, word);
  try {
    const result = await fill(folder);
    await syncTree(disk, folder);
    await appear(disk, folder, target);
    return result;
  } catch (error) {
    await removeTree(disk, folder).catch(() => undefined); // the next run for this place removes it
    throw error;
  }
}

async function begin(disk: Disk, target: string, word: string): Promise<string> {
  const parent = dirname(target);
  const start = `${basename(target)}.${word}-`;
  try {
    await makeDirectory(disk, parent);
    for (const { name, kind } of await disk.list(parent)) {
      const end = name.startsWith(start) ? name.slice(start.length) : "";
      const [, pid] = /^(\d+)-[0-9a-z]{18}$/.exec(end) ?? [];
      const isLeft = pid !== undefined && !isRunning(Number(pid));
      if (isLeft && kind === "directory") await removeTree(disk, join(parent, name));
    }
    const folder = join(parent, `${start}${process.pid}-${randomId()}`);
    await disk.mkdir(folder);
    return folder;
  } catch (cause) {
    if (!isErrno(cause, "EACCES", "EPERM", "EROFS", "ENOTDIR", "ENAMETOOLONG")) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    throw new Failed(`${target} cannot be written (${code})`, {
      code: "THROUGHLINE_CONFIGURATION",
      wayOut: "Choose a place in a folder that you can write to.",
      cause,
    });
  }
}

/** Fills a new file, and makes the folders above it. @param name with `/` between the names. */
export async function create<T>(
  disk: Disk,
  folder: string,
  name: string,
  fill: (file: DiskFile) => Promise<T>,
): Promise<T> {
  const names = name.split("/");
  for (let i = 1; i < names.length; i++) {
    await disk.mkdir(join(folder, ...names.slice(0, i))).catch((error: unknown) => {
      if (!isCode(error, "EEXIST")) throw error;
    });
  }
  const path = join(folder, name);
  const file = await disk.open(path, "create");
  try {
    try {
      return await fill(file);
    } finally {
      await file.close();
    }
  } catch (error) {
    await disk.unlink(path);
    throw error;
  }
}

/** Makes all names durable. Removes empty folders: one may be named after a chat that was forgotten. */
async function syncTree(disk: Disk, path: string): Promise<void> {
  for (const { name, kind } of await disk.list(path)) {
    if (kind !== "directory") continue;
    const inner = join(path, name);
    await syncTree(disk, inner);
    if ((await disk.list(inner)).length === 0) await disk.rmdir(inner);
  }
  await disk.syncDirectory(path);
}

async function appear(disk: Disk, folder: string, target: string): Promise<void> {
  try {
    // An empty folder may be there, and not every system renames over one.
    await disk.rmdir(target).catch(unlessAbsent);
    await disk.rename(folder, target);
  } catch (cause) {
    if (!isErrno(cause, "ENOTEMPTY", "EEXIST", "ENOTDIR")) throw cause;
    throw isTaken(target, cause);
  }
  await disk.syncDirectory(dirname(target));
}

/**
 * Refuses a place where no folder can appear.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something is there, other than an empty folder.
 * `THROUGHLINE_CONFIGURATION`: it is the root of a disk, where no folder can appear by a rename.
 */
export async function assertFree(disk: Disk, path: string): Promise<void> {
  const stats = await lstat(path).catch(unlessAbsent);
  if (stats === undefined) return;
  const isEmpty = stats.isDirectory() && (await disk.list(path)).length === 0;
  if (!isEmpty) throw isTaken(path);
  if (stats.dev === (await lstat(dirname(path))).dev) return;
  throw new Failed(`${path} is where a disk or a volume is mounted`, {
    code: "THROUGHLINE_CONFIGURATION",
    wayOut: "Name a folder in it instead. It is created.",
  });
}

function isTaken(path: string, cause?: unknown): Failed {
  return new Failed(`${path} exists and is not an empty folder. Nothing was changed`, {
    code: "THROUGHLINE_CONFLICT",
    wayOut: "Choose another place, or move away what is there.",
    cause,
  });
}

export async function removeTree(disk: Disk, path: string): Promise<void> {
  for (const { name, kind } of await disk.list(path)) {
    const inner = join(path, name);
    await (kind === "directory" ? removeTree(disk, inner) : disk.unlink(inner));
  }
  await disk.rmdir(path);
}
