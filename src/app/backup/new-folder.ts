// A new folder for a backup or a home, and why none can appear at its place.
import { lstat } from "node:fs/promises";
import { dirname } from "node:path";
import { unlessAbsent } from "../../cli/doctor/home-files.ts";
import { Failed, isErrno } from "../../cli/failure.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import { appear, makeBeside, removeTree } from "../../core/storage/files/new-folder.ts";

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
  const folder = await makeBeside(disk, target, word).catch((cause: unknown) => {
    if (!isErrno(cause, "EACCES", "EPERM", "EROFS", "ENOTDIR", "ENAMETOOLONG")) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    throw new Failed(`${target} cannot be written (${code})`, {
      code: "THROUGHLINE_CONFIGURATION",
      wayOut: "Choose a place in a folder that you can write to.",
      cause,
    });
  });
  try {
    const result = await fill(folder);
    await appear(disk, folder, target).catch((cause: unknown) => {
      if (!isErrno(cause, "ENOTEMPTY", "EEXIST", "ENOTDIR")) throw cause;
      throw isTaken(target, cause);
    });
    return result;
  } catch (error) {
    await removeTree(disk, folder).catch(() => undefined); // the next run for this place removes it
    throw error;
  }
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
