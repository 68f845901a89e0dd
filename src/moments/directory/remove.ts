// Forgetting packages: removing a folder, all that this machine has of one package, and all that a selection meets.
// There the rename, which makes a half of it, is the decision: from there on a start finishes it, and what lies beside
// goes before the package does, so that nothing of it comes back.
import { join } from "node:path";
import type { Disk } from "../../core/storage/disk/disk.ts";
import { syncNames, unlinkIfThere } from "../../core/storage/files/file-ports.ts";
import type { PackageStatus } from "../package/record.ts";
import { codeOf, entriesOf, isHere, type PackagePorts, pathOf, sizeIfThere } from "./names.ts";
import { addTombstone, joinPlaces, noStatus, placesOf, readStatus, writeStatus } from "./notes.ts";
import { isMeant, namesHere, ownersHere, type Selection } from "./whose.ts";

/**
 * Removes a folder and all in it; no link is followed. It has a name by which it is no package. Not durable until the
 * parent is synced.
 *
 * @returns how many bytes of files there were; `undefined` if there was no such folder.
 */
export async function removeTree(disk: Disk, path: string): Promise<number | undefined> {
  const entries = await entriesOf(disk, path);
  if (entries === undefined) return undefined;
  let bytes = 0;
  for (const { name, kind } of entries) {
    const child = join(path, name);
    if (kind === "directory") {
      bytes += (await removeTree(disk, child)) ?? 0;
      continue;
    }
    if (kind === "file") bytes += (await sizeIfThere(disk, child)) ?? 0;
    await unlinkIfThere(disk, child);
  }
  await disk.rmdir(path);
  return bytes;
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
  const half = pathOf(ports, name, "partial");
  const status = pathOf(ports, name, "status");
  ports.guard();
  if (kept !== undefined) await writeStatus(ports, name, kept);
  const unfinished = await removeTree(disk, half);
  const isPackage = await isHere(ports, name);
  if (isPackage) {
    await disk.rename(pathOf(ports, name), half);
    await syncNames(ports, path);
  }
  const statusBytes = (await sizeIfThere(disk, status)) ?? 0;
  const isNoted = kept === undefined && (await unlinkIfThere(disk, status));
  await syncNames(ports, path);
  const bytes = (await removeTree(disk, half)) ?? 0;
  await syncNames(ports, path);
  return {
    packages: Number(isPackage),
    unfinished: Number(unfinished !== undefined),
    statuses: Number(isNoted),
    bytes: bytes + (unfinished ?? 0) + (isNoted ? statusBytes : 0),
  };
}

const places = ["packages", "unfinished", "statuses", "bytes"] as const;

/** What a deletion found, in each place, and what it could not reach. */
export type DeleteReceipt = ReturnType<typeof noneDeleted>;

const noneDeleted = () => ({
  /** Names that have nothing left here, oldest first. */
  deleted: [] as string[],
  packages: 0,
  unfinished: 0,
  statuses: 0,
  /** Of all files that were removed. */
  bytes: 0,
  /** Packages and retractions that were still to be sent, and are not any more. */
  pending: 0,
  /** Copies in buckets: a tombstone of each is here until it is deleted there. */
  remote: [] as { readonly name: string; readonly bucket: string; readonly prefix: string }[],
  /**
   * Deletion was not finished, and is when it is asked for again or at the next start; one with copies in buckets as
   * soon as the disk lets it.
   */
  failed: [] as { readonly name: string; readonly error: string }[],
  /** Their record cannot be read, so it is not known whose they are: delete them by name. */
  unreadable: [] as string[],
});

/**
 * Deletes packages and all that lies beside them, each for good before the next. Every deletion
 * also removes unfinished packages: no caller was told that they are kept.
 */
export async function deletePackages(
  ports: PackagePorts,
  selection: Selection,
): Promise<DeleteReceipt> {
  const { changes } = ports;
  const receipt = noneDeleted();
  const names = "name" in selection ? [selection.name] : await namesHere(ports);
  for (const name of names) {
    try {
      const found = await changes.run(name, () => isSelected(ports, selection, name));
      if (found === undefined) receipt.unreadable.push(name);
      if (found !== true) continue;
      const isElsewhere = await changes.run(name, () => bury(ports, name, receipt));
      // Outside of the mutex: the sender of the package may be waiting for it.
      await ports.sender?.stop(name);
      const removed = await changes
        .run(name, () => removeHere(ports, name))
        .finally(() => {
          // Also after a failure: what is left here goes before the copies do.
          if (isElsewhere) ports.sender?.pending(name);
        });
      for (const place of places) receipt[place] += removed[place];
      if (removed.packages + removed.unfinished + removed.statuses > 0) receipt.deleted.push(name);
    } catch (error) {
      const failed = { name, error: codeOf(error) };
      receipt.failed.push(failed);
      ports.logger.error({ package: name, error: failed.error }, "deleted in part: to be finished");
    }
  }
  return receipt;
}

async function isSelected(
  ports: PackagePorts,
  selection: Selection,
  name: string,
): Promise<boolean | undefined> {
  const owners = await ownersHere(ports, name, "message" in selection);
  const isHalf =
    owners.length === 0 &&
    !(await isHere(ports, name)) &&
    // What is being written, or has no status, has no copy in a bucket either.
    ((await isHere(ports, name, "partial")) || !(await isHere(ports, name, "status")));
  return isHalf || isMeant(selection, name, owners);
}

/**
 * Notes where it may be beside here, before anything of it goes: from here on nothing of it comes back, whatever
 * happens.
 *
 * @returns whether there is such a place.
 */
async function bury(ports: PackagePorts, name: string, receipt: DeleteReceipt): Promise<boolean> {
  const status = (await readStatus(ports, name)) ?? noStatus;
  const { uploaded, upload } = status;
  const isPending = upload !== undefined && upload.state !== "done";
  // What is pending goes to the bucket of today, whatever its status says.
  // A half went to none: a tombstone would only keep its moment from being saved at the next try.
  const isHalf = status.of === undefined && !(await isHere(ports, name));
  const target = isPending && !isHalf ? ports.upload?.target : undefined;
  const here = placesOf(status);
  const places = target && upload ? joinPlaces(here, [{ target, prefix: upload.prefix }]) : here;
  const isElsewhere = await addTombstone(ports, name, places);
  receipt.remote.push(...uploaded.map(({ bucket, prefix }) => ({ name, bucket, prefix })));
  receipt.pending += Number(isPending);
  return isElsewhere;
}
