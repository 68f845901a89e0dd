// What the bucket has and this home does not know of: looked for only because somebody asks.

import type { PackageDirectory } from "../directory/package-directory.ts";
import { isMeant, type Selection } from "../directory/whose.ts";
import { foldersIn, ownersThere } from "../s3/find-packages.ts";
import type { S3Bucket } from "../s3/s3-bucket.ts";
import { removePackage } from "../s3/upload-package.ts";
import type { UploadLoop } from "./upload-loop.ts";

export interface CutOffReceipt {
  /** Removed. */
  readonly remote: readonly { readonly name: string; readonly prefix: string }[];
  /** False: not all of the bucket could be looked at. */
  readonly isBucketSearched: boolean;
}

/** An upload rests for less between two of its objects while its bucket answers. */
const cutOffAfterMs = 24 * 3_600_000;

/**
 * Looks through all of the bucket for what is to be forgotten; it is deleted there now, or once the bucket
 * answers again.
 *
 * @returns whether all of it was looked at.
 */
export async function forgetInBucket(
  packages: PackageDirectory,
  loop: UploadLoop,
  selection: Selection,
): Promise<boolean> {
  const failure = await loop.once("", async (bucket, signal) => {
    for await (const folder of foldersIn(bucket, signal)) {
      const { name, prefix, isSealed } = folder;
      const isNamed = "name" in selection && selection.name === name;
      if (!isNamed && (!isSealed || "name" in selection)) continue;
      if (await packages.knows(name)) continue;
      if (isNamed || (await isMeantThere(bucket, folder, selection, signal))) {
        await packages.bury(name, prefix);
      }
    }
  });
  await loop.idle();
  return failure === undefined;
}

async function isMeantThere(
  bucket: S3Bucket,
  folder: { readonly name: string; readonly prefix: string },
  selection: Selection,
  signal: AbortSignal,
): Promise<boolean> {
  const of = await ownersThere(bucket, folder, signal);
  if (of === undefined || !isMeant(selection, folder.name, [of])) return false;
  return !("message" in selection) || of.messages.includes(selection.message.id);
}

/** Removes what uploads left that were cut off a day ago or longer, of any device. */
export async function removeCutOff(
  packages: PackageDirectory,
  loop: UploadLoop | undefined,
  nowMs: number,
): Promise<CutOffReceipt> {
  const remote: CutOffReceipt["remote"][number][] = [];
  const failure = await loop?.once("", async (bucket, signal) => {
    for await (const { name, prefix, isSealed, newestMs } of foldersIn(bucket, signal)) {
      const isCutOff = !isSealed && nowMs - newestMs > cutOffAfterMs;
      if (!isCutOff || (await packages.knows(name))) continue;
      await removePackage(bucket, prefix, signal);
      remote.push({ name, prefix });
    }
  });
  return { remote, isBucketSearched: failure === undefined };
}
