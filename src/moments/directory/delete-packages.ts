import type { KeyedMutex } from "../../core/mutex.ts";
import { isHere, placesIn, timeOf } from "./names.ts";
import { addTombstone, joinPlaces, noStatus, placesOf, readStatus } from "./notes.ts";
import { type PackagePorts, secondsNow } from "./ports.ts";
import { codeOf } from "./read-package.ts";
import { removeHere } from "./remove.ts";
import { isMeant, ownersHere, type Selection } from "./whose.ts";

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
  /** Deletion was not finished, and is at the next start or when it is asked for again. */
  failed: [] as { readonly name: string; readonly error: string }[],
  /** Their record cannot be read, so it is not known whose they are: delete them by name. */
  unreadable: [] as string[],
});

/** Something of a package, the chats that its records name, and when somebody reacted. */
export interface OwnedPackage {
  readonly name: string;
  readonly chatIds: readonly string[];
  /** In milliseconds since 1970. */
  readonly at: number;
}

/**
 * Deletes packages and all that lies beside them, each for good before the next. Every deletion
 * also removes unfinished packages whose record was never written: it is unknown whose they are,
 * and no caller was told that they are kept. `waiting`: names that are being saved at this moment
 * and that the selection may meet.
 */
export async function deletePackages(
  ports: PackagePorts,
  selection: Selection,
  waiting: readonly string[],
  changes: KeyedMutex,
): Promise<DeleteReceipt> {
  const receipt = noneDeleted();
  // They end first: under which name is not certain before.
  for (const name of waiting) await changes.run(name, async () => undefined);
  const names = "name" in selection ? [selection.name] : await namesHere(ports);
  for (const name of names) {
    try {
      const found = await changes.run(name, () => isSelected(ports, selection, name));
      if (found === undefined) receipt.unreadable.push(name);
      if (found !== true) continue;
      const since = secondsNow(ports.clock);
      const isElsewhere = await changes.run(name, () => bury(ports, name, since, receipt));
      // Outside of the mutex: the sender of the package may be waiting for it.
      await ports.sender?.stop(name);
      const removed = await changes.run(name, () => removeHere(ports, name));
      if (isElsewhere) ports.sender?.pending(name, "tombstone", { since });
      const { packages, unfinished, statuses, bytes } = removed;
      receipt.packages += packages;
      receipt.unfinished += unfinished;
      receipt.statuses += statuses;
      receipt.bytes += bytes;
      if (packages + unfinished + statuses > 0) receipt.deleted.push(name);
    } catch (error) {
      const failed = { name, error: codeOf(error) };
      receipt.failed.push(failed);
      ports.logger.error({ package: name, error: failed.error }, "deleted in part: to be finished");
    }
  }
  return receipt;
}

/** All that is here, also what is damaged, or has its files in a bucket alone. */
export async function* ownedPackages(ports: PackagePorts): AsyncGenerator<OwnedPackage> {
  for (const name of await namesHere(ports)) {
    const owners = await ownersHere(ports, name, false);
    const chatIds = owners.flatMap(({ chat_id }) => chat_id ?? []);
    const { timestamp = timeOf(name) / 1_000 } = owners[0] ?? {};
    yield { name, chatIds, at: timestamp * 1_000 };
  }
}

async function namesHere(ports: PackagePorts): Promise<readonly string[]> {
  const places = [...(await placesIn(ports))];
  return places.filter(([, as]) => as.size > Number(as.has("tombstone"))).map(([name]) => name);
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
    // Without a status there is no copy in a bucket either.
    !(await isHere(ports, name, "status"));
  return isHalf || isMeant(selection, name, owners);
}

/**
 * Notes where it may be beside here, before anything of it goes: from here on nothing of it comes back, whatever
 * happens.
 *
 * @returns whether there is such a place.
 */
async function bury(
  ports: PackagePorts,
  name: string,
  since: number,
  receipt: DeleteReceipt,
): Promise<boolean> {
  const status = (await readStatus(ports, name)) ?? noStatus;
  const { uploaded, upload } = status;
  const isPending = upload !== undefined && upload.state !== "done";
  // What is pending goes to the bucket of today, whatever its status says.
  const target = isPending ? ports.upload?.target : undefined;
  const here = placesOf(status);
  const places = target && upload ? joinPlaces(here, [{ target, prefix: upload.prefix }]) : here;
  const isElsewhere = await addTombstone(ports, name, places, since);
  receipt.remote.push(...uploaded.map(({ bucket, prefix }) => ({ name, bucket, prefix })));
  receipt.pending += Number(isPending);
  return isElsewhere;
}
