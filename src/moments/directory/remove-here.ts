// Removing all that this machine has of one package. The rename is the decision: from there on a start
// finishes it, and what lies beside goes before the package does, so that nothing of it comes back.
import { join } from "node:path";
import { isThere, syncNames, unlinkIfThere } from "../../core/storage/files/file-ports.ts";
import type { PackageStatus } from "../package/record.ts";
import { writeNote } from "./json-file.ts";
import { endings } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { removeTree, sizeOf } from "./remove-tree.ts";
import { readStatus } from "./status.ts";

/** Removes the folder, its half and its status; its tombstone stays. @returns how many of each there were. */
export async function removeHere(ports: PackagePorts, name: string) {
  const { disk, path } = ports;
  const folder = join(path, name);
  const deleting = folder + endings.deleting;
  ports.guard();
  const begun = (await removeTree(disk, deleting)) ?? 0;
  const isPackage = await isThere(disk, folder);
  if (isPackage) {
    await disk.rename(folder, deleting);
    await syncNames(ports, path);
  }
  const half = await removeTree(disk, folder + endings.partial);
  const statusBytes = await sizeOf(disk, folder + endings.status);
  const isNoted = await unlinkIfThere(disk, folder + endings.status);
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

/**
 * Removes the folder alone, because a bucket has it: its status stays and says whose it is, so that
 * forgetting reaches the copy there. @returns how many bytes.
 */
export async function removeFolder(
  ports: PackagePorts,
  name: string,
  status: PackageStatus,
): Promise<number> {
  const { disk, path } = ports;
  const deleting = join(path, name) + endings.deleting;
  await writeNote(ports, name, "status", status);
  await removeTree(disk, deleting);
  await disk.rename(join(path, name), deleting);
  await syncNames(ports, path);
  const bytes = (await removeTree(disk, deleting)) ?? 0;
  await syncNames(ports, path);
  return bytes;
}

/** Finishes a removal that a dead process began. */
export async function finishRemoval(ports: PackagePorts, name: string): Promise<void> {
  const { disk, path } = ports;
  const isReleased = (await readStatus(ports, name))?.of !== undefined;
  const isBack = await isThere(disk, join(path, name));
  if (!isReleased && !isBack) return void (await removeHere(ports, name));
  await removeTree(disk, join(path, name) + endings.deleting);
  await syncNames(ports, path);
}
