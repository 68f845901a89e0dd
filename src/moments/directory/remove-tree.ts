import { join } from "node:path";
import type { Disk, DiskEntry } from "../../core/storage/disk/disk.ts";
import { unlessAbsent, unlinkIfThere } from "../../core/storage/files/file-ports.ts";
import { manifestFile } from "../package/content.ts";

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
  return disk.list(path).catch(unlessAbsent);
}

/** The size of a file; 0 if there is none. */
export async function sizeOf(disk: Disk, path: string): Promise<number> {
  return (await sizeIfThere(disk, path)) ?? 0;
}

export async function sizeIfThere(disk: Disk, path: string): Promise<number | undefined> {
  return disk.size(path).catch(unlessAbsent);
}
