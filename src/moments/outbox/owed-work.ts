// What one entry asks for, done.
import type { Clock } from "../../core/clock.ts";
import { idOf as packageIdOf } from "../directory/names.ts";
import { foldersIn } from "../s3/find-packages.ts";
import { hashOf } from "../s3/local-files.ts";
import { manifestFile, retractionFile } from "../s3/object-key.ts";
import { removePackage } from "../s3/remove-package.ts";
import type { S3Bucket } from "../s3/s3-bucket.ts";
import { uploadPackage } from "../s3/upload-package.ts";
import { UploadStop } from "../s3/upload-stop.ts";
import type { OwedEntry } from "./owed-entry.ts";
import type { LocalPackages, UploadEvent } from "./uploader-ports.ts";

export interface WorkPorts {
  readonly packages: LocalPackages;
  readonly clock: Clock;
  /** Owes the deletion of all that is looked for. Rejects while not all of the bucket was seen. */
  search(bucket: S3Bucket, entry: OwedEntry, signal: AbortSignal): Promise<void>;
}

export interface Progress {
  sentThrough: number;
  /** Writes it down. */
  keep(): Promise<void>;
}

/** Does what an entry asks for. Resolves when nothing of it is owed any more. */
export async function workOff(
  bucket: S3Bucket,
  entry: OwedEntry,
  progress: Progress,
  ports: WorkPorts,
  signal: AbortSignal,
): Promise<UploadEvent | undefined> {
  const { name, prefix } = entry;
  switch (entry.kind) {
    case "package":
      await sendPackage(bucket, entry, progress, ports, signal);
      return { type: "uploaded", name, prefix };
    case "search":
      await ports.search(bucket, entry, signal);
      return undefined;
    case "retraction":
      for (const place of await placesOf(bucket, entry, signal)) {
        await retract(bucket, place, entry, signal);
      }
      return { type: "retracted", name };
    case "sending":
    case "delete": {
      let removed = { keys: 0, versionsRemain: false };
      for (const place of await placesOf(bucket, entry, signal)) {
        if (entry.kind === "sending" && (await hasArrived(bucket, entry, place, ports, signal))) {
          return { type: "uploaded", name, prefix: place };
        }
        const { keys, versionsRemain } = await removePackage(
          ...([bucket, place, entry.paths ?? [], signal] as const),
        );
        removed = {
          keys: removed.keys + keys,
          versionsRemain: removed.versionsRemain || versionsRemain,
        };
      }
      return { type: "deleted", name, ...removed };
    }
  }
}

/** Where something of a package is. Where nobody knows, all of the bucket is looked at. */
async function placesOf(
  bucket: S3Bucket,
  { name, prefix }: OwedEntry,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (prefix !== "") return [prefix];
  const found: string[] = [];
  for await (const folder of foldersIn(bucket, signal)) {
    if (folder.name === name) found.push(folder.prefix);
  }
  return found;
}

/** The first one stays: retracting again changes nothing. */
async function retract(
  bucket: S3Bucket,
  prefix: string,
  { retraction }: OwedEntry,
  signal: AbortSignal,
): Promise<void> {
  const body = Buffer.from(`${JSON.stringify(retraction, undefined, 2)}\n`);
  const key = prefix + retractionFile;
  const sha256 = hashOf("sha256", body);
  await bucket.putIfAbsent({ key, body, contentType: "application/json", sha256 }, signal);
}

/**
 * Whether a package that was on its way from memory when its process died is there, and is noted; not
 * if it is here, or was recorded anew meanwhile under the same id: then that one stays.
 */
async function hasArrived(
  bucket: S3Bucket,
  { name, target }: OwedEntry,
  prefix: string,
  { packages, clock }: WorkPorts,
  signal: AbortSignal,
): Promise<boolean> {
  const known = packages.nameOf(packageIdOf(name));
  if (known !== undefined && known !== name) return false;
  if ((await bucket.head(prefix + manifestFile, signal)) === undefined) return false;
  const timestamp = Math.round(clock.now()) / 1_000;
  const copy = { bucket: target.bucket, prefix, timestamp };
  await unlessAborted(packages.remote(name, copy), signal);
  return true;
}

async function sendPackage(
  bucket: S3Bucket,
  entry: OwedEntry,
  progress: Progress,
  { packages, clock }: WorkPorts,
  signal: AbortSignal,
): Promise<void> {
  const { name, prefix, keep_local } = entry;
  const copyNow = () => {
    const timestamp = Math.round(clock.now()) / 1_000;
    return { bucket: entry.target.bucket, prefix, timestamp };
  };
  if (!(await packages.has(name))) {
    // Perhaps it went up, and was removed here, and the process died before it could say so.
    if ((await bucket.head(prefix + manifestFile, signal)) !== undefined) {
      return await unlessAborted(packages.remote(name, copyNow()), signal);
    }
    throw new UploadStop("local_missing");
  }
  const job = {
    ...{ name, prefix, source: packages, sentThrough: progress.sentThrough },
    onProgress: (sentThrough: number) => {
      progress.sentThrough = sentThrough;
    },
    keepProgress: () => progress.keep(),
  };
  await uploadPackage(bucket, job, { clock }, signal);
  // Whoever deletes the package may hold what these wait for, and waits for us to stop.
  await unlessAborted(packages.uploaded(name, copyNow()), signal);
  if (!keep_local) await unlessAborted(packages.release(name), signal);
}

export async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
