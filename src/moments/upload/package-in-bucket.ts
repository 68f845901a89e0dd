// One package into a bucket and out of it: what is there already is not sent again, the manifest comes
// last and goes first, and "uploaded" is what was read back.
import { concurrently } from "../../core/concurrently.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { hashOf, manifestFile } from "../package/content.ts";
import { readManifest } from "../package/manifest.ts";
import type { FileEntry, PackageStatus } from "../package/record.ts";
import type { ListedObject, ObjectToPut, S3Bucket } from "../s3/s3-bucket.ts";
import { UploadFailure } from "../s3/upload-failure.ts";

/** Requests at once for objects: 4 took 1.5 s for a package where one took 2.5 s, and 16 1.4 s. */
const objectsAtOnce = 4;
/** A request that was stopped may still arrive: what it leaves is looked for again. */
const rounds = 3;

/**
 * Reads one file of a package, `feedback.json` too: from its folder, or of a moment in memory. Rejects when there is
 * no such package.
 */
type ReadPart = (path: string) => Promise<Buffer>;

/** A file whose bytes were read and are those that the manifest tells of. `md5` is what an ETag may tell. */
type LocalFile = FileEntry & { readonly md5: string };

/**
 * Uploads a package, or what is missing of it. Resolves when the bucket's manifest was read back and
 * is ours; every file that it lists was seen there before it was written.
 *
 * @param prefix of every key, which ends with the package's name and a slash.
 * @throws `UploadFailure`, the signal's reason, or what `read` rejects with.
 */
export async function sendPackage(
  bucket: S3Bucket,
  prefix: string,
  read: ReadPart,
  signal: AbortSignal,
): Promise<void> {
  const before = await objectsUnder(bucket, prefix, signal);
  const { files, manifestBytes } = await readLocal(prefix, read);
  const isSealed = before.has(prefix + manifestFile);
  // Whose manifest it is, is asked before anything under its prefix is written.
  if (isSealed) await compareManifest(bucket, prefix, manifestBytes, signal);
  const missing = files.filter((file) => !isSame(file, before.get(prefix + file.path)));
  if (isSealed && missing.length === 0) return;
  const etags = new Map<string, string>();
  await concurrently(missing, objectsAtOnce, async (file) => {
    signal.throwIfAborted();
    const { path, sha256, media_type: contentType } = file;
    const body = await readPart(read, file);
    const object = { key: prefix + path, contentType, sha256, body };
    etags.set(path, await bucket.put(object, signal));
  });
  const after = await objectsUnder(bucket, prefix, signal);
  const isThere = (file: LocalFile) =>
    isSame(file, after.get(prefix + file.path), etags.get(file.path));
  if (!files.every(isThere)) throw new UploadFailure("incomplete");
  await bucket.putIfAbsent(jsonObject(prefix + manifestFile, manifestBytes), signal);
  await compareManifest(bucket, prefix, manifestBytes, signal);
}

/**
 * Reads a whole package, file by file, before a byte of it is sent.
 *
 * @throws `UploadFailure` `local_damage`: the manifest, or a file, is not as it was sealed.
 */
async function readLocal(prefix: string, read: ReadPart) {
  const manifestBytes = await read(manifestFile);
  const { manifest } = readManifest(manifestBytes);
  if (!manifest || !prefix.endsWith(`/${manifest.name}/`)) throw new UploadFailure("local_damage");
  const files: LocalFile[] = [];
  for (const file of manifest.files) {
    files.push({ ...file, md5: hashOf("md5", [await readPart(read, file)]) });
  }
  return { manifestBytes, files };
}

async function readPart(read: ReadPart, { path, ...file }: FileEntry) {
  const body = await read(path).catch((cause: unknown) => {
    const isMissing = isThroughlineError(cause, "THROUGHLINE_NOT_FOUND");
    throw isMissing ? new UploadFailure("local_damage", { cause }) : cause;
  });
  const isSame = body.length === file.bytes && hashOf("sha256", [body]) === file.sha256;
  if (!isSame) throw new UploadFailure("local_damage");
  return body;
}

/** Writes a retraction beside a copy. The first one stays: retracting again changes nothing. */
export async function sendRetraction(
  bucket: S3Bucket,
  prefix: string,
  retracted: NonNullable<PackageStatus["retracted"]>,
  signal: AbortSignal,
): Promise<void> {
  const { timestamp: at, by, reason, superseded_by } = retracted;
  const text = JSON.stringify({ at, by, reason, superseded_by }, undefined, 2);
  await bucket.putIfAbsent(jsonObject(`${prefix}retracted.json`, Buffer.from(`${text}\n`)), signal);
}

function jsonObject(key: string, body: Buffer): ObjectToPut {
  return { key, body, contentType: "application/json", sha256: hashOf("sha256", [body]) };
}

/** Whether a package arrived whole: its manifest goes last. */
export async function hasArrived(
  bucket: S3Bucket,
  prefix: string,
  signal: AbortSignal,
): Promise<boolean> {
  return (await objectsLeft(bucket, prefix, signal)).has(prefix + manifestFile);
}

/**
 * Removes every object of a package, the manifest first, so that no reader ever sees it without its
 * files. Resolves when nothing is left under the prefix.
 *
 * @returns whether the bucket keeps older versions of what was removed.
 */
export async function removePackage(
  bucket: S3Bucket,
  prefix: string,
  signal: AbortSignal,
): Promise<boolean> {
  let hasVersions = false;
  for (let round = 0; round < rounds; round++) {
    const keys = [...(await objectsLeft(bucket, prefix, signal)).keys()];
    if (keys.length === 0) return hasVersions;
    const isFirst = (key: string) => Number(key === prefix + manifestFile);
    for (const key of keys.sort((one, other) => isFirst(other) - isFirst(one))) {
      if (await bucket.remove(key, signal)) hasVersions = true;
    }
  }
  throw new UploadFailure("incomplete");
}

async function objectsUnder(bucket: S3Bucket, prefix: string, signal: AbortSignal) {
  const found = await Array.fromAsync(bucket.list(prefix, signal));
  return new Map(found.map((object) => [object.key, object]));
}

/** The same; a bucket that is gone has none. */
function objectsLeft(bucket: S3Bucket, prefix: string, signal: AbortSignal) {
  return objectsUnder(bucket, prefix, signal).catch((error: UploadFailure) => {
    if (error.code === "NoSuchBucket") return new Map<string, ListedObject>();
    throw error;
  });
}

/**
 * Reads the manifest that is there.
 *
 * @throws `UploadFailure` `conflict`: it is not this one. `incomplete`: there is none any more.
 */
async function compareManifest(
  bucket: S3Bucket,
  prefix: string,
  manifest: Buffer,
  signal: AbortSignal,
): Promise<void> {
  const found = await bucket.get(prefix + manifestFile, signal);
  if (found === undefined) throw new UploadFailure("incomplete");
  if (!found.equals(manifest)) throw new UploadFailure("conflict");
}

/** Whether a listed object is this file: by the ETag that the answer to its PUT had, or by its MD5. */
function isSame(file: LocalFile, object: ListedObject | undefined, etag?: string): boolean {
  if (object?.bytes !== file.bytes) return false;
  return object.etag === etag || object.etag.replaceAll('"', "").toLowerCase() === file.md5;
}
