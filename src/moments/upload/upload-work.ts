// What one status or tombstone asks for, done in the bucket.
import type { Logger } from "../../core/logger.ts";
import type { PackageDirectory } from "../directory/package-directory.ts";
import { isInFlight } from "../directory/status.ts";
import { hashOf } from "../package/digests.ts";
import type { PackageStatus, Tombstone, UploadTarget } from "../package/record.ts";
import type { S3Bucket } from "../s3/s3-bucket.ts";
import { UploadFailure } from "../s3/upload-failure.ts";
import { hasArrived, removePackage, uploadPackage } from "../s3/upload-package.ts";

interface WorkPorts {
  readonly packages: PackageDirectory;
  readonly logger: Logger;
  /** That packages go to now. */
  readonly target: UploadTarget;
  bucket(name: string): S3Bucket;
}

/**
 * Makes the bucket agree with a status: the package is there, and its retraction beside it. Resolves
 * when that is noted.
 *
 * @returns whether the package was uploaded now.
 */
export async function sendPackage(
  name: string,
  status: PackageStatus,
  { packages, target, bucket }: WorkPorts,
  signal: AbortSignal,
): Promise<boolean> {
  const { upload, uploaded, retracted } = status;
  if (upload === undefined) return false;
  const isNew = uploaded.length === 0;
  const isFromMemory = isInFlight(status) && !(await packages.has(name));
  if ((!isNew || isFromMemory) && upload.target.endpoint !== target.endpoint)
    throw new UploadFailure("other_target");
  if (isFromMemory) {
    // The process that sent it died.
    const at = bucket(upload.target.bucket);
    if (!(await hasArrived(at, upload.prefix, signal))) {
      await removePackage(at, upload.prefix, signal);
      await packages.forgetStatus(name);
      return false;
    }
  } else if (isNew) {
    if (!(await packages.has(name))) throw new UploadFailure("local_missing");
    const job = { name, prefix: upload.prefix, source: packages };
    await uploadPackage(bucket(target.bucket), job, signal);
  }
  if (retracted !== null) {
    const { timestamp: at, by, reason, superseded_by } = retracted;
    const body = Buffer.from(
      `${JSON.stringify({ at, by, reason, superseded_by }, undefined, 2)}\n`,
    );
    const object = { body, contentType: "application/json", sha256: hashOf("sha256", [body]) };
    for (const copy of isNew ? [{ bucket: target.bucket, prefix: upload.prefix }] : uploaded) {
      // The first retraction stays: retracting again changes nothing.
      const key = `${copy.prefix}retracted.json`;
      await bucket(copy.bucket).putIfAbsent({ ...object, key }, signal);
    }
  }
  await packages.sent(name, retracted);
  if (!upload.keep_local && (await packages.has(name))) await packages.release(name);
  return isNew;
}

/** Removes what a tombstone is of from the bucket, and then the tombstone. */
export async function finishTombstone(
  name: string,
  { places }: Tombstone,
  { packages, logger, target, bucket }: WorkPorts,
  signal: AbortSignal,
): Promise<void> {
  if (places.length === 0) throw new UploadFailure("local_damage"); // where it may be is not known
  for (const { target: place, prefix } of places) {
    if (place.endpoint !== target.endpoint) throw new UploadFailure("other_target");
    const hasVersions = await removePackage(bucket(place.bucket), prefix, signal);
    if (hasVersions) {
      const says = "the bucket keeps older versions: delete those there yourself";
      logger.warn({ package: name }, says);
    }
  }
  await packages.buried(name, places);
}
