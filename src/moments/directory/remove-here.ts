// Removing all that this machine has of one package. The rename is the decision: from there on a start
// finishes it, and what lies beside goes before the package does, so that nothing of it comes back.
import { syncNames, unlinkIfThere } from "../../core/storage/files/file-ports.ts";
import type { PackageStatus } from "../package/record.ts";
import { isHere, pathOf } from "./names.ts";
import { readStatus, writeNote } from "./notes.ts";
import type { PackagePorts } from "./ports.ts";
import { removeTree, sizeOf } from "./remove-tree.ts";

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
  const statusBytes = await sizeOf(disk, status);
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
