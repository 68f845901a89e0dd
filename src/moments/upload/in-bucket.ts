// What the bucket has and this home does not know of: looked for only because somebody asks.

import type { PackageDirectory } from "../directory/package-directory.ts";
import { isMeant, ownersOf, type Selection } from "../directory/whose.ts";
import { manifestFile, messagesFile } from "../package/content.ts";
import { readManifest, readMessages } from "../package/manifest.ts";
import { isPackageName } from "../package/package-name.ts";
import type { S3Bucket } from "../s3/s3-bucket.ts";
import type { Outbox } from "./outbox.ts";
import { removePackage } from "./package-in-bucket.ts";

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
  outbox: Outbox,
  selection: Selection,
): Promise<boolean> {
  const failure = await outbox.once("", async (bucket, signal) => {
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
  await outbox.idle();
  return failure === undefined;
}

/** Whether a package is meant, by its words too. No: it has no manifest, one that cannot be read, or another's. */
async function isMeantThere(
  bucket: S3Bucket,
  { name, prefix }: Pick<RemoteFolder, "name" | "prefix">,
  selection: Selection,
  signal: AbortSignal,
): Promise<boolean> {
  const bytes = await bucket.get(prefix + manifestFile, signal);
  const { manifest } = bytes === undefined ? {} : readManifest(bytes);
  if (manifest?.name !== name) return false;
  const words = await bucket.get(prefix + messagesFile, signal);
  const messages = (words && readMessages(words)) ?? [];
  return isMeant(selection, name, [ownersOf(manifest, messages)]) === true;
}

/** Removes what uploads left that were cut off a day ago or longer, of any device. */
export async function removeCutOff(
  packages: PackageDirectory,
  outbox: Outbox | undefined,
  nowMs: number,
): Promise<CutOffReceipt> {
  const remote: CutOffReceipt["remote"][number][] = [];
  const failure = await outbox?.once("", async (bucket, signal) => {
    for await (const { name, prefix, isSealed, newestMs } of foldersIn(bucket, signal)) {
      const isCutOff = !isSealed && nowMs - newestMs > cutOffAfterMs;
      if (!isCutOff || (await packages.knows(name))) continue;
      await removePackage(bucket, prefix, signal);
      remote.push({ name, prefix });
    }
  });
  return { remote, isBucketSearched: failure === undefined };
}

/** What lies in a bucket under the prefix of one package. */
interface RemoteFolder {
  readonly name: string;
  /** Of each of its keys, with the last slash. */
  readonly prefix: string;
  /** Whether its manifest is there. */
  isSealed: boolean;
  /** When its newest object was stored; not a number: the service does not say. */
  newestMs: number;
}

/**
 * Every package of a bucket, and what there is of those that are not whole: a page of keys at a time,
 * no object read.
 */
async function* foldersIn(
  bucket: S3Bucket,
  signal: AbortSignal,
): AsyncGenerator<RemoteFolder, void> {
  let folder: RemoteFolder | undefined;
  // By key, so that those of one package follow each other.
  for await (const { key, modifiedMs = Number.NaN } of bucket.list("feedback/", signal)) {
    const [first = "", session = "", name = "", ...path] = key.split("/");
    if (path.length === 0 || !isPackageName(name)) continue;
    const prefix = `${first}/${session}/${name}/`;
    if (prefix !== folder?.prefix) {
      if (folder !== undefined) yield folder;
      folder = { name, prefix, isSealed: false, newestMs: modifiedMs };
    }
    folder.isSealed ||= key === prefix + manifestFile;
    folder.newestMs = Math.max(folder.newestMs, modifiedMs);
  }
  if (folder !== undefined) yield folder;
}
