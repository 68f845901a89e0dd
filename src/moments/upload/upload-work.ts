// What one status or tombstone asks for, done in the bucket.
import type { Clock } from "../../core/clock.ts";
import { isSearchName } from "../directory/names.ts";
import type { PackageDirectory } from "../directory/package-directory.ts";
import { isSearchedFor, type Tombstone } from "../directory/tombstones.ts";
import type { PackageStatus, UploadedCopy, UploadTarget } from "../package/package-format.ts";
import { foldersIn, readRemote, remoteMessageIds } from "../s3/find-packages.ts";
import { hashOf } from "../s3/local-files.ts";
import { manifestFile, retractionFile } from "../s3/object-key.ts";
import { removePackage } from "../s3/remove-package.ts";
import type { S3Bucket } from "../s3/s3-bucket.ts";
import { uploadPackage } from "../s3/upload-package.ts";
import { UploadStop } from "../s3/upload-stop.ts";
import type { AttemptError } from "./outcome.ts";

/** What happened to something that was to be sent. */
export type UploadEvent =
  /** The manifest in the bucket was read back and agrees. */
  | { readonly type: "uploaded"; readonly name: string; readonly prefix: string }
  | { readonly type: "retracted"; readonly name: string }
  | {
      readonly type: "deleted";
      readonly name: string;
      readonly keys: number;
      /** The bucket keeps older versions, which this program does not reach. */
      readonly versionsRemain: boolean;
    }
  /** It will not go by itself: somebody must look. */
  | { readonly type: "failed"; readonly name: string; readonly error: AttemptError }
  /** The target says no. Told once for each reason. */
  | { readonly type: "target_refused"; readonly error: AttemptError }
  | { readonly type: "bucket_made"; readonly isClosedToPublic: boolean };

export interface WorkPorts {
  readonly packages: PackageDirectory;
  readonly clock: Clock;
  /** That packages go to now. */
  readonly target: UploadTarget;
  open(bucket: string, signal: AbortSignal): Promise<S3Bucket>;
}

/** How many files of a package are in the bucket for sure: for one that cannot be listed. */
interface Progress {
  sentThrough: number;
}

/**
 * Makes the bucket agree with a status: the package is there, and its retraction beside it. Resolves
 * when that is noted.
 */
export async function sendPackage(
  name: string,
  status: PackageStatus,
  progress: Progress,
  ports: WorkPorts,
  signal: AbortSignal,
): Promise<readonly UploadEvent[]> {
  const { packages, target } = ports;
  const { upload, retracted } = status;
  if (upload === undefined) return [];
  const events: UploadEvent[] = [];
  let copies = status.uploaded;
  if (copies.length === 0) {
    const bucket = await ports.open(target.bucket, signal);
    copies = await copiesMade(bucket, name, upload.prefix, progress, ports, signal);
    for (const copy of copies) {
      await packages.uploaded(name, copy);
      events.push({ type: "uploaded", name, prefix: copy.prefix });
    }
  } else if (!isOurs(upload.target, target)) throw new UploadStop("other_target");
  if (retracted !== null) {
    const { timestamp: at, by, reason, superseded_by } = retracted;
    const words = { at, by, reason, superseded_by };
    for (const copy of copies) {
      const bucket = await ports.open(copy.bucket || target.bucket, signal);
      await mark(bucket, copy.prefix, words, signal);
    }
    events.push({ type: "retracted", name });
  }
  await packages.noteUpload(name, (note, now) => {
    // Retracted by now, and not before: that is still to be sent.
    const isSent = now.retracted === null || retracted !== null;
    const { endpoint, region } = target;
    const sent = { ...note, target: { ...note.target, endpoint, region }, error: null };
    return { ...sent, state: isSent ? "done" : "pending" };
  });
  if (!upload.keep_local && (await packages.has(name))) await packages.release(name);
  return events;
}

/** Without a region it was not known where the copy is: where copies go now, as far as that is known. */
function isOurs(target: UploadTarget, ours: UploadTarget): boolean {
  return target.endpoint === ours.endpoint || target.region === null;
}

/** Uploads what is here. What is not, may be there: it is looked for. */
async function copiesMade(
  bucket: S3Bucket,
  name: string,
  prefix: string,
  progress: Progress,
  { packages, clock, target }: WorkPorts,
  signal: AbortSignal,
): Promise<readonly UploadedCopy[]> {
  const copyAt = (at: string): UploadedCopy => {
    return { bucket: target.bucket, prefix: at, timestamp: Math.round(clock.now()) / 1_000 };
  };
  if (await packages.has(name)) {
    const job = {
      name,
      prefix,
      source: packages,
      sentThrough: progress.sentThrough,
      onProgress: (sentThrough: number) => {
        progress.sentThrough = sentThrough;
      },
    };
    await uploadPackage(bucket, job, { clock }, signal);
    return [copyAt(prefix)];
  }
  const places = prefix === "" ? await placesOf(bucket, name, signal) : [prefix];
  const found: UploadedCopy[] = [];
  for (const place of places) {
    const isThere = (await bucket.head(place + manifestFile, signal)) !== undefined;
    if (isThere) found.push(copyAt(place));
  }
  if (found.length === 0) throw new UploadStop("local_missing");
  return found;
}

/** Where something of a package is: all of the bucket is looked at. */
async function placesOf(bucket: S3Bucket, name: string, signal: AbortSignal): Promise<string[]> {
  const found: string[] = [];
  for await (const folder of foldersIn(bucket, signal)) {
    if (folder.name === name) found.push(folder.prefix);
  }
  return found;
}

/** The first retraction stays: retracting again changes nothing. */
async function mark(
  bucket: S3Bucket,
  prefix: string,
  words: object,
  signal: AbortSignal,
): Promise<void> {
  const body = Buffer.from(`${JSON.stringify(words, undefined, 2)}\n`);
  const key = prefix + retractionFile;
  const sha256 = hashOf("sha256", body);
  await bucket.putIfAbsent({ key, body, contentType: "application/json", sha256 }, signal);
}

/** Removes what a tombstone is of from the bucket, and then the tombstone. */
export async function finishTombstone(
  name: string,
  tombstone: Tombstone,
  ports: WorkPorts,
  signal: AbortSignal,
): Promise<readonly UploadEvent[]> {
  const { packages, target } = ports;
  let keys = 0;
  let versionsRemain = false;
  for (const place of tombstone.places) {
    const isAnywhere = place.target.bucket === "";
    if (!isAnywhere && !isOurs(place.target, target)) throw new UploadStop("other_target");
    const bucket = await ports.open(isAnywhere ? target.bucket : place.target.bucket, signal);
    const isSearch = isSearchName(name);
    const prefixes = isSearch
      ? prefixesMeant(bucket, name, packages, signal)
      : place.prefix === ""
        ? await placesOf(bucket, name, signal)
        : [place.prefix];
    for await (const prefix of prefixes) {
      const removed = await removePackage(bucket, prefix, tombstone.paths, signal);
      keys += removed.keys;
      versionsRemain ||= removed.versionsRemain;
      const [, , found = ""] = prefix.split("/");
      if (isSearch) await packages.forgetRemote(found);
    }
  }
  await packages.removeTombstone(name);
  return [{ type: "deleted", name, keys, versionsRemain }];
}

/** Every package of the bucket that a search means; none that is here. */
async function* prefixesMeant(
  bucket: S3Bucket,
  search: string,
  packages: PackageDirectory,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  for await (const folder of foldersIn(bucket, signal)) {
    const { name, prefix, isSealed } = folder;
    if (!isSealed || (await packages.has(name))) continue;
    const manifest = await readRemote(bucket, folder, signal);
    if (manifest === undefined) continue;
    const isByMessage = search.startsWith("search_message_");
    const messages = isByMessage ? await remoteMessageIds(bucket, folder, signal) : [];
    if (isSearchedFor(search, name, { ...manifest, messages })) yield prefix;
  }
}
