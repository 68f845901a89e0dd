// Removing all that this machine has of one package. The rename is the decision: from there on a start
// finishes it, and what lies beside goes before the package does, so that nothing of it comes back.
import { join } from "node:path";
import { isThere, syncNames, unlinkIfThere } from "../../core/storage/files/file-ports.ts";
import type { PackageStatus } from "../package/record.ts";
import { endings } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { quarantined, removeQuarantined } from "./quarantine.ts";
import { removeTree, sizeOf } from "./remove-tree.ts";
import { readStatus, writeStatus } from "./status.ts";

/** What there was of one package, by place. */
interface RemovedHere {
  readonly isPackage: boolean;
  readonly isUnfinished: boolean;
  readonly isStatus: boolean;
  readonly quarantined: number;
  readonly bytes: number;
}

/** Removes the folder, its half, its status and what quarantine has of it. Its tombstone stays. */
export async function removeHere(ports: PackagePorts, name: string): Promise<RemovedHere> {
  const { disk, path } = ports;
  const folder = join(path, name);
  const deleting = folder + endings.deleting;
  ports.guard();
  let bytes = (await removeTree(disk, deleting)) ?? 0;
  const isPackage = await isThere(disk, folder);
  if (isPackage) {
    await disk.rename(folder, deleting);
    await syncNames(ports, path);
  }
  const half = await removeTree(disk, folder + endings.partial);
  const status = await removeFile(ports, folder + endings.status);
  await syncNames(ports, path);
  const aside = (await quarantined(ports)).filter((one) => one.name === name);
  for (const { entry } of aside) await removeQuarantined(ports, entry);
  bytes += (await removeTree(disk, deleting)) ?? 0;
  await syncNames(ports, path);
  return {
    isPackage,
    isUnfinished: half !== undefined,
    isStatus: status !== undefined,
    quarantined: aside.filter(({ entry }) => !entry.endsWith(".json")).length,
    bytes: bytes + (half ?? 0) + (status ?? 0),
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
  await writeStatus(ports, name, status);
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

/** @returns its size; `undefined` if there was none. */
async function removeFile({ disk }: PackagePorts, path: string): Promise<number | undefined> {
  const bytes = await sizeOf(disk, path);
  return (await unlinkIfThere(disk, path)) ? bytes : undefined;
}
