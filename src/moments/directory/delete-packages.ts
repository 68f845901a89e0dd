import { join } from "node:path";
import type { KeyedMutex } from "../../core/mutex.ts";
import { isThere } from "../../core/storage/files/file-ports.ts";
import { isPackageName } from "../package/package-name.ts";
import { codeOf } from "./disk-errors.ts";
import { endings, placeOf, timeOf } from "./names.ts";
import { type PackagePorts, secondsNow } from "./ports.ts";
import { quarantined } from "./quarantine.ts";
import { removeHere } from "./remove-here.ts";
import { entriesOf } from "./remove-tree.ts";
import { joinPlaces, noStatus, placesOf, readStatus } from "./status.ts";
import { readTombstone, writeTombstone } from "./tombstones.ts";
import {
  holdsMessage,
  isMeant,
  type OwnedPackage,
  type Places,
  type Selection,
  whoseIs,
} from "./whose.ts";

/** What a deletion found, in each place, and what it could not reach. */
export interface DeleteReceipt {
  /** Names that have nothing left here, oldest first. */
  readonly deleted: readonly string[];
  readonly packages: number;
  readonly unfinished: number;
  readonly statuses: number;
  readonly quarantined: number;
  /** Of all files that were removed. */
  readonly bytes: number;
  /** Packages and retractions that were still to be sent, and are not any more. */
  readonly pending: number;
  /** Copies in buckets: a tombstone of each is here until it is deleted there. */
  readonly remote: readonly {
    readonly name: string;
    readonly bucket: string;
    readonly prefix: string;
  }[];
  /** Deletion was not finished, and is at the next start or when it is asked for again. */
  readonly failed: readonly { readonly name: string; readonly error: string }[];
  /** Their record cannot be read, so it is not known whose they are: delete them by name. */
  readonly unreadable: readonly string[];
}

type Counts = { -readonly [name in keyof DeleteReceipt]: DeleteReceipt[name] } & {
  deleted: string[];
  remote: DeleteReceipt["remote"][number][];
  failed: DeleteReceipt["failed"][number][];
  unreadable: string[];
};

/**
 * Deletes packages and all that lies beside them, each for good before the next. Every deletion
 * also removes unfinished packages whose record was never written: it is unknown whose they are,
 * and no caller was told that they are kept. `waiting`: names that are being saved at this moment
 * and that the selection meets.
 */
export async function deletePackages(
  ports: PackagePorts,
  selection: Selection,
  waiting: readonly string[],
  alone: KeyedMutex["run"],
): Promise<DeleteReceipt> {
  const counts: Counts = {
    deleted: [],
    packages: 0,
    unfinished: 0,
    statuses: 0,
    quarantined: 0,
    bytes: 0,
    pending: 0,
    remote: [],
    failed: [],
    unreadable: [],
  };
  // They end first: under which name is not certain before.
  for (const name of waiting) await alone(name, async () => undefined);
  const aside = await quarantined(ports);
  for (const name of await candidates(ports, selection, aside)) {
    try {
      const found = await alone(name, () => isSelected(ports, selection, name, aside));
      if (found === "unreadable") counts.unreadable.push(name);
      if (found !== true) continue;
      // Outside of the mutex: the sender of the package may be waiting for it.
      const release = await ports.sender?.hold(name);
      const isGone = await alone(name, () => deleteOne(ports, name, counts)).catch((error) => {
        release?.(false);
        throw error;
      });
      release?.(true);
      if (isGone) counts.deleted.push(name);
    } catch (error) {
      counts.failed.push({ name, error: codeOf(error) });
      ports.logger.error(
        { package: name, error: codeOf(error) },
        "deleted in part: to be finished",
      );
    }
  }
  return counts;
}

/** All that is here, also what is damaged, set aside, or has its files in a bucket alone. */
export async function* ownedPackages(ports: PackagePorts): AsyncGenerator<OwnedPackage> {
  const aside = await quarantined(ports);
  for (const name of await candidates(ports, { all: true }, aside)) {
    const whose = await whoseIs(ports, name, placesHere(ports, name, aside));
    const chatIds = whose.flatMap(({ chat_id }) => chat_id ?? []);
    const { timestamp = timeOf(name) / 1_000 } = whose[0] ?? {};
    yield { name, chatIds, at: timestamp * 1_000 };
  }
}

type Aside = Awaited<ReturnType<typeof quarantined>>;

async function candidates(
  { disk, path }: PackagePorts,
  selection: Selection,
  aside: Aside,
): Promise<readonly string[]> {
  if ("name" in selection) return [selection.name];
  const names = new Set<string>();
  for (const { name } of (await entriesOf(disk, path)) ?? []) {
    const place = placeOf(name);
    if (place !== undefined && place.as !== "tombstone") names.add(place.name);
  }
  for (const { name } of aside) if (isPackageName(name)) names.add(name);
  return [...names].sort();
}

async function isSelected(
  ports: PackagePorts,
  selection: Selection,
  name: string,
  aside: Aside,
): Promise<boolean | "unreadable"> {
  const places = placesHere(ports, name, aside);
  const whose = await whoseIs(ports, name, places);
  const isUnknown = whose.length === 0;
  const isPackage = await isThere(ports.disk, join(ports.path, name));
  // Without a status there is no copy in a bucket either: it is a half.
  if (isUnknown && !isPackage && !(await isThere(ports.disk, statusPath(ports, name)))) return true;
  if (!isMeant(selection, name, whose)) return isUnknown ? "unreadable" : false;
  if (!("message" in selection)) return true;
  return holdsMessage(ports, name, places, selection.message.id);
}

const statusPath = ({ path }: PackagePorts, name: string) => join(path, name + endings.status);

/** Where something of one name is. */
function placesHere(ports: PackagePorts, name: string, aside: Aside): Places {
  const { path, quarantinePath } = ports;
  const folder = join(path, name);
  const entries = aside.filter((one) => one.name === name && !one.entry.endsWith(".json"));
  return [
    folder,
    folder + endings.partial,
    ...entries.map(({ entry }) => join(quarantinePath, entry)),
  ];
}

/** @returns whether there was anything of it. */
async function deleteOne(ports: PackagePorts, name: string, counts: Counts): Promise<boolean> {
  const status = (await readStatus(ports, name)) ?? noStatus;
  const before = await readTombstone(ports, name);
  const here = joinPlaces(before?.places ?? [], placesOf(status));
  const { uploaded, upload } = status;
  const isPending = upload !== undefined && upload.state !== "done";
  // What is pending goes to the bucket of today, whatever its status says.
  const target = isPending ? ports.upload?.target : undefined;
  const places = target && upload ? joinPlaces(here, [{ target, prefix: upload.prefix }]) : here;
  const since = secondsNow(ports.clock);
  if (places.length > 0) {
    // Before anything goes: from here on nothing of it comes back, whatever happens.
    await writeTombstone(ports, name, { state: "pending", places, since, error: null });
  }
  counts.remote.push(...uploaded.map(({ bucket, prefix }) => ({ name, bucket, prefix })));
  if (isPending) counts.pending++;
  const removed = await removeHere(ports, name);
  if (places.length > 0) ports.sender?.pending(name, "tombstone", { since });
  if (removed.isPackage) counts.packages++;
  if (removed.isUnfinished) counts.unfinished++;
  if (removed.isStatus) counts.statuses++;
  counts.quarantined += removed.quarantined;
  counts.bytes += removed.bytes;
  const { isPackage, isUnfinished, isStatus } = removed;
  return isPackage || isUnfinished || isStatus || removed.quarantined > 0;
}
