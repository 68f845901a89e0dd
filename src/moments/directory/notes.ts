// The small files beside a package, because a package never changes: JSON of a declared shape, replaced whole.
// <name>.status.json says what became of it. <name>.tombstone.json is of something that is forgotten here and that
// a bucket may still have. It stays until the bucket agrees; until then what was forgotten does not come back here.
import { corrupt } from "../../core/errors.ts";
import { is } from "../../core/shape.ts";
import {
  type FilePorts,
  replaceFile,
  syncNames,
  unlinkIfThere,
  writeAll,
} from "../../core/storage/files/file-ports.ts";
import { jsonOf } from "../package/manifest.ts";
import { keyPrefix } from "../package/package-name.ts";
import {
  type BucketPlace,
  type PackageOwners,
  type PackageRecord,
  type PackageStatus,
  statusShape,
  type Tombstone,
  tombstoneShape,
  type UploadNote,
} from "../package/record.ts";
import {
  assertThere,
  type Directory,
  isHere,
  type PackagePorts,
  pathOf,
  readWhole,
  secondsNow,
  timeOf,
} from "./names.ts";

/** Replaces a small file whole: after a power cut the old one is there, or the new one. */
export async function writeJson(ports: FilePorts, path: string, value: object): Promise<void> {
  ports.guard();
  const bytes = Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
  await replaceFile(ports, path, (file) => writeAll(file, bytes, 0));
}

export function writeStatus(ports: PackagePorts, name: string, status: PackageStatus) {
  return writeJson(ports, pathOf(ports, name, "status"), status);
}

export function writeTombstone(ports: PackagePorts, name: string, tombstone: Tombstone) {
  return writeJson(ports, pathOf(ports, name, "tombstone"), tombstone);
}

export async function removeNote(
  ports: PackagePorts,
  name: string,
  as: "status" | "tombstone",
): Promise<void> {
  ports.guard();
  if (await unlinkIfThere(ports.disk, pathOf(ports, name, as))) await syncNames(ports, ports.path);
}

export const noStatus: PackageStatus = { uploaded: [], preserved: null, retracted: null };

/**
 * Reads the status of a package; nothing happened to it when there is no file. `undefined` for a file that
 * is not a status: then it is not known what did, and nothing may be taken for granted.
 */
export async function readStatus(
  from: Directory,
  name: string,
): Promise<PackageStatus | undefined> {
  const bytes = await readWhole(from.disk, pathOf(from, name, "status"));
  const status = bytes === undefined ? noStatus : jsonOf(bytes);
  return is(statusShape, status) ? status : undefined;
}

/**
 * Notes that a package is to be uploaded that is about to be here, or to go to a bucket from memory, if
 * that was agreed to, so that none is ever in either place of which that is not known.
 *
 * @param of whose it is, of one from memory.
 */
export async function noteComing(
  ports: PackagePorts,
  { name, session_id, consent }: PackageRecord,
  bytes: number,
  of?: PackageOwners,
): Promise<UploadNote | undefined> {
  if (ports.upload === undefined || !consent.upload) return undefined;
  const { target, keepLocal } = ports.upload;
  const upload: UploadNote = {
    state: "pending",
    target,
    prefix: keyPrefix(session_id, name),
    keep_local: keepLocal,
    since: secondsNow(ports.clock),
    bytes,
    error: null,
  };
  // What was tried from memory before it came to the disk may have left something in the bucket.
  const known = of ?? (await readStatus(ports, name))?.of;
  await writeStatus(ports, name, { ...noStatus, upload, of: known });
  return upload;
}

/** Whether a package without a folder is on its way from memory: no copy of it was read back. */
export function isInFlight({ of, uploaded }: PackageStatus): boolean {
  return of !== undefined && uploaded.length === 0;
}

/** @param timestamp now, in seconds since 1970. */
export type ChangeStatus = (status: PackageStatus, timestamp: number) => PackageStatus;

/**
 * Changes what is noted beside a package that is here, or that a status says a bucket alone has. A
 * change that changes nothing writes nothing.
 *
 * @param isFromMemory also of a package that is on its way from memory.
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`; `THROUGHLINE_CORRUPT`: the status cannot be read.
 */
export async function changeStatus(
  ports: PackagePorts,
  name: string,
  change: ChangeStatus,
  isFromMemory = false,
): Promise<PackageStatus> {
  const isNoted = await isHere(ports, name, "status");
  const before = await readStatus(ports, name);
  const isOnItsWay = before !== undefined && isInFlight(before) && !isFromMemory;
  if (!isNoted || isOnItsWay) await assertThere(ports, name);
  if (before === undefined) {
    throw corrupt(`the status of ${name} cannot be read: repair it by hand`);
  }
  const after = change(before, secondsNow(ports.clock));
  if (JSON.stringify(after) !== JSON.stringify(before)) await writeStatus(ports, name, after);
  return after;
}

/** Where something of a package is, or may be: its copies, and one that is on its way. */
export function placesOf({ uploaded, upload }: PackageStatus): readonly BucketPlace[] {
  if (upload === undefined) return [];
  const { target, prefix, state } = upload;
  const copies = uploaded.map((copy) => {
    return { target: { ...target, bucket: copy.bucket }, prefix: copy.prefix };
  });
  return state === "done" ? copies : joinPlaces(copies, [{ target, prefix }]);
}

const keyOf = ({ target, prefix }: BucketPlace) =>
  JSON.stringify([target.bucket, target.endpoint, prefix]);

/** Both lists, and what stands in both of them once. */
export function joinPlaces(
  one: readonly BucketPlace[],
  other: readonly BucketPlace[],
): readonly BucketPlace[] {
  return [...new Map([...one, ...other].map((place) => [keyOf(place), place])).values()];
}

/** `undefined`: there is none. */
export async function readTombstone(from: Directory, name: string): Promise<Tombstone | undefined> {
  const bytes = await readWhole(from.disk, pathOf(from, name, "tombstone"));
  const tombstone = bytes && jsonOf(bytes);
  if (bytes === undefined || is(tombstoneShape, tombstone))
    return tombstone as Tombstone | undefined;
  // What is to be deleted here is told by its name, and nothing tells where else it is.
  const error = { class: "local_damage", code: null, status: null };
  return { state: "dead", places: [], since: timeOf(name) / 1_000, error };
}

/**
 * Notes that something is to be deleted in these places, and in those that were noted before.
 *
 * @returns whether there are any.
 */
export async function addTombstone(
  ports: PackagePorts,
  name: string,
  more: readonly BucketPlace[],
): Promise<boolean> {
  const { places: before = [] } = (await readTombstone(ports, name)) ?? {};
  const places = joinPlaces(before, more);
  if (places.length === 0) return false;
  const since = secondsNow(ports.clock);
  await writeTombstone(ports, name, { state: "pending", places, since, error: null });
  return true;
}
