// One package into a bucket and out of it: what is there already is not sent again, the manifest comes
// last and goes first, and "uploaded" is what was read back.
import { concurrently } from "../../core/concurrently.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { manifestFile } from "../directory/content.ts";
import { hashOf } from "../package/digests.ts";
import { readManifest } from "../package/read-manifest.ts";
import type { FileEntry } from "../package/record.ts";
import type { ListedObject, S3Bucket } from "./s3-bucket.ts";
import { UploadFailure } from "./upload-failure.ts";

/** Requests at once for objects: 4 took 1.5 s for a package where one took 2.5 s, and 16 1.4 s. */
const objectsAtOnce = 4;
/** A request that was stopped may still arrive: what it leaves is looked for again. */
const rounds = 3;

/** Where the bytes of one package come from: its folder, or a moment in memory. */
export interface PackageSource {
  /** The bytes of one of its files, `feedback.json` too. Rejects when there is no such package. */
  part(name: string, path: string): Promise<Buffer>;
}

/** A file whose bytes were read and are those that the manifest tells of. `md5` is what an ETag may tell. */
type LocalFile = FileEntry & { readonly md5: string };

interface UploadJob {
  readonly name: string;
  /** Of every key, with its last slash. */
  readonly prefix: string;
  readonly source: PackageSource;
}

/**
 * Uploads a package, or what is missing of it. Resolves when the bucket's manifest was read back and
 * is ours; every file that it lists was seen there before it was written.
 *
 * @throws `UploadFailure`, the signal's reason, or what the source rejects with.
 */
export async function uploadPackage(
  bucket: S3Bucket,
  { name, prefix, source }: UploadJob,
  signal: AbortSignal,
): Promise<void> {
  const before = await objectsUnder(bucket, prefix, signal);
  const { files, manifestBytes } = await readLocal(source, name);
  const isSealed = before.has(prefix + manifestFile);
  // Whose manifest it is, is asked before anything under its prefix is written.
  if (isSealed) await compareManifest(bucket, prefix, manifestBytes, signal);
  const missing = files.filter((file) => !isSame(file, before.get(prefix + file.path)));
  if (isSealed && missing.length === 0) return;
  const etags = new Map<string, string>();
  await concurrently(missing, objectsAtOnce, async (file) => {
    signal.throwIfAborted();
    const { path, sha256, media_type: contentType } = file;
    const body = await readPart(source, name, file);
    const object = { key: prefix + path, contentType, sha256, body };
    etags.set(path, await bucket.put(object, signal));
  });
  const after = await objectsUnder(bucket, prefix, signal);
  const isThere = (file: LocalFile) =>
    isSame(file, after.get(prefix + file.path), etags.get(file.path));
  if (!files.every(isThere)) throw new UploadFailure("incomplete");
  const sha256 = hashOf("sha256", [manifestBytes]);
  const object = { key: prefix + manifestFile, contentType: "application/json", sha256 };
  await bucket.putIfAbsent({ ...object, body: manifestBytes }, signal);
  await compareManifest(bucket, prefix, manifestBytes, signal);
}

/**
 * Reads a whole package, file by file, before a byte of it is sent.
 *
 * @throws `UploadFailure` `local_damage`: the manifest, or a file, is not as it was sealed.
 */
async function readLocal(source: PackageSource, name: string) {
  const manifestBytes = await source.part(name, manifestFile);
  const { manifest } = readManifest(manifestBytes);
  if (manifest?.name !== name) throw new UploadFailure("local_damage");
  const files: LocalFile[] = [];
  for (const file of manifest.files) {
    files.push({ ...file, md5: hashOf("md5", [await readPart(source, name, file)]) });
  }
  return { manifestBytes, files };
}

async function readPart(source: PackageSource, name: string, { path, ...file }: FileEntry) {
  const body = await source.part(name, path).catch((cause: unknown) => {
    const isMissing = isThroughlineError(cause, "THROUGHLINE_NOT_FOUND");
    throw isMissing ? new UploadFailure("local_damage", { cause }) : cause;
  });
  const isSame = body.length === file.bytes && hashOf("sha256", [body]) === file.sha256;
  if (!isSame) throw new UploadFailure("local_damage");
  return body;
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

async function objectsUnder(
  bucket: S3Bucket,
  prefix: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ListedObject>> {
  const found = new Map<string, ListedObject>();
  for await (const object of bucket.list(prefix, signal)) found.set(object.key, object);
  return found;
}

/** The same; a bucket that is gone has none. */
async function objectsLeft(bucket: S3Bucket, prefix: string, signal: AbortSignal) {
  try {
    return await objectsUnder(bucket, prefix, signal);
  } catch (error) {
    if (error instanceof UploadFailure && error.code === "NoSuchBucket")
      return new Map<string, never>();
    throw error;
  }
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
