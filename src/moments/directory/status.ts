// <name>.status.json: what became of a sealed package, beside it, because a package never changes.
import { ThroughlineError } from "../../core/errors.ts";
import { keyPrefix } from "../package/package-name.ts";
import {
  type BucketPlace,
  type PackageOwners,
  type PackageRecord,
  type PackageStatus,
  statusShape,
  type UploadNote,
  type UploadTarget,
} from "../package/record.ts";
import { readNote, writeNote } from "./json-file.ts";
import { type Directory, isHere } from "./names.ts";
import { type PackagePorts, secondsNow } from "./ports.ts";
import { assertThere } from "./read-package.ts";

export const noStatus: PackageStatus = { uploaded: [], preserved: null, retracted: null };

/**
 * Reads the status of a package; nothing happened to it when there is no file. `undefined` for a file that
 * is not a status: then it is not known what did, and nothing may be taken for granted.
 */
export async function readStatus(
  from: Directory,
  name: string,
): Promise<PackageStatus | undefined> {
  const status = (await readNote(from, name, "status", statusShape)) ?? noStatus;
  return status === "unreadable" ? undefined : status;
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
  await writeNote(ports, name, "status", { ...noStatus, upload, of: known });
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
    throw new ThroughlineError(`the status of ${name} cannot be read: repair it by hand`, {
      code: "THROUGHLINE_CORRUPT",
    });
  }
  const after = change(before, secondsNow(ports.clock));
  if (JSON.stringify(after) !== JSON.stringify(before))
    await writeNote(ports, name, "status", after);
  return after;
}

/**
 * Makes the status of a package that the bucket has, since `timestamp` unless a copy was noted before.
 * Nothing is to be sent any more.
 *
 * @param given where packages go now, which may be another bucket than when it was recorded.
 */
export function uploadedNow(
  status: PackageStatus,
  timestamp: number,
  given?: UploadTarget,
): PackageStatus {
  const { upload, uploaded } = status;
  if (upload === undefined) return status;
  const target = given ?? upload.target;
  const copy = { bucket: target.bucket, prefix: upload.prefix, timestamp };
  const copies = uploaded.length > 0 ? uploaded : [copy];
  return { ...status, uploaded: copies, upload: { ...upload, target, state: "done", error: null } };
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

/** Both lists, and what stands in both of them once. */
export function joinPlaces(
  one: readonly BucketPlace[],
  other: readonly BucketPlace[],
): readonly BucketPlace[] {
  return [...one, ...other.filter((place) => !one.some((known) => isSamePlace(known, place)))];
}

export function isSamePlace(one: BucketPlace, other: BucketPlace): boolean {
  const { bucket, endpoint } = one.target;
  const isBucket = bucket === other.target.bucket && endpoint === other.target.endpoint;
  return isBucket && one.prefix === other.prefix;
}
