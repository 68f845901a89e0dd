// Removing a folder, and all that this machine has of one package. There the rename is the decision: from there on a
// start finishes it, and what lies beside goes before the package does, so that nothing of it comes back.
import { join } from "node:path";
import type { Disk, DiskEntry } from "../../core/storage/disk/disk.ts";
import { syncNames, unlinkIfThere } from "../../core/storage/files/file-ports.ts";
import { manifestFile } from "../package/content.ts";
import type { PackageStatus } from "../package/record.ts";
import { entriesOf, isHere, pathOf, sizeIfThere } from "./names.ts";
import { readStatus, writeNote } from "./notes.ts";
import type { PackagePorts } from "./ports.ts";

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
    if (kind === "file") bytes += (await sizeIfThere(disk, child)) ?? 0;
    await unlinkIfThere(disk, child);
  }
  await disk.rmdir(path);
  return bytes;
}

function rank({ name }: DiskEntry): number {
  return name === manifestFile ? 0 : 1;
}

/**
 * Removes the folder, its half and its status; its tombstone stays.
 *
 * @param kept the status that stays, because a bucket has the package: it says whose it is, so that forgetting
 *   reaches the copy there.
 * @returns how many of each there were.
 */
export async function removeHere(ports: PackagePorts, name: string, kept?: PackageStatus) {
  const { disk, path } = ports;
  const deleting = pathOf(ports, name, "deleting");
  const status = pathOf(ports, name, "status");
  ports.guard();
  if (kept !== undefined) await writeNote(ports, name, "status", kept);
  const begun = (await removeTree(disk, deleting)) ?? 0;
  const isPackage = await isHere(ports, name);
  if (isPackage) {
    await disk.rename(pathOf(ports, name), deleting);
    await syncNames(ports, path);
  }
  const half = await removeTree(disk, pathOf(ports, name, "partial"));
  const statusBytes = (await sizeIfThere(disk, status)) ?? 0;
  const isNoted = kept === undefined && (await unlinkIfThere(disk, status));
  await syncNames(ports, path);
  const bytes = (await removeTree(disk, deleting)) ?? 0;
  await syncNames(ports, path);
  return {
    packages: Number(isPackage),
    unfinished: Number(half !== undefined),
    statuses: Number(isNoted),
    bytes: begun + bytes + (half ?? 0) + (isNoted ? statusBytes : 0),
  };
}

/** Finishes a removal that a dead process began. */
export async function finishRemoval(ports: PackagePorts, name: string): Promise<void> {
  const isReleased = (await readStatus(ports, name))?.of !== undefined;
  if (!isReleased && !(await isHere(ports, name))) return void (await removeHere(ports, name));
  await removeTree(ports.disk, pathOf(ports, name, "deleting"));
  await syncNames(ports, ports.path);
}
