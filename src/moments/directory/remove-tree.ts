import { join } from "node:path";
import type { Disk, DiskEntry } from "../../core/storage/disk/disk.ts";
import { unlinkIfThere } from "../../core/storage/files/file-ports.ts";
import { manifestFile } from "./content.ts";
import { isGone } from "./disk-errors.ts";

/** Deeper than any package: what somebody else put there is not followed for ever. */
const maxDepth = 8;

/**
 * Removes a folder and all in it; no link is followed. The manifest goes first, so that the rest is
 * never taken for a package. Not durable until the parent is synced.
 *
 * @returns how many bytes of files there were; `undefined` if there was no such folder.
 */
export async function removeTree(disk: Disk, path: string, depth = 0): Promise<number | undefined> {
  const entries = await entriesOf(disk, path);
  if (entries === undefined) return undefined;
  let bytes = 0;
  for (const { name, kind } of entries.toSorted((one, other) => rank(one) - rank(other))) {
    const child = join(path, name);
    if (kind === "directory" && depth < maxDepth) {
      bytes += (await removeTree(disk, child, depth + 1)) ?? 0;
      continue;
    }
    if (kind === "file") bytes += await sizeOf(disk, child);
    await unlinkIfThere(disk, child);
  }
  await disk.rmdir(path);
  return bytes;
}

function rank({ name }: DiskEntry): number {
  return name === manifestFile ? 0 : 1;
}

/** What is in a directory; `undefined` if there is none. */
export async function entriesOf(
  disk: Disk,
  path: string,
): Promise<readonly DiskEntry[] | undefined> {
  try {
    return await disk.list(path);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** The size of a file; 0 if there is none. */
export async function sizeOf(disk: Disk, path: string): Promise<number> {
  return (await sizeIfThere(disk, path)) ?? 0;
}

export async function sizeIfThere(disk: Disk, path: string): Promise<number | undefined> {
  try {
    return await disk.size(path);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Whether something has this name. */
export async function isThere(disk: Disk, path: string): Promise<boolean> {
  return (await sizeIfThere(disk, path)) !== undefined;
}
