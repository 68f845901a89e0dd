import { untilDigestHolds } from "./digest-attempts.ts";
import { hashOf } from "./local-files.ts";
import { manifestFile } from "./object-key.ts";
import type { S3Bucket } from "./s3-bucket.ts";
import { type ObjectHead, S3Error } from "./s3-port.ts";
import { UploadStop } from "./upload-stop.ts";

/**
 * Puts the manifest in its place, where nothing is, and reads it back. Resolves when the bucket has
 * exactly these bytes there, also from another write: the answer to an earlier attempt may be lost.
 *
 * @throws `UploadStop` `conflict`: other bytes are there. They stay.
 */
export async function sealPackage(
  bucket: S3Bucket,
  prefix: string,
  manifest: Buffer,
  signal: AbortSignal,
): Promise<void> {
  const key = prefix + manifestFile;
  const sha256 = hashOf("sha256", manifest);
  const object = { key, body: manifest, contentType: "application/json", sha256 };
  const stored = await untilDigestHolds(() => bucket.putIfAbsent(object, signal));
  if (stored === "stored" && (await agrees(bucket, key, manifest, sha256, signal))) return;
  await compareManifest(bucket, prefix, manifest, signal);
}

/** Whether the head of what is there tells that it is this manifest. */
async function agrees(
  bucket: S3Bucket,
  key: string,
  manifest: Buffer,
  sha256: string,
  signal: AbortSignal,
): Promise<boolean> {
  let head: ObjectHead | undefined;
  try {
    head = await bucket.head(key, signal);
  } catch (error) {
    // A refusal of HEAD does not say why: reading the bytes does, or does as well.
    if (error instanceof S3Error && error.kind === "answer" && error.code === "Unknown")
      return false;
    throw error;
  }
  if (head?.bytes !== manifest.length) return false;
  if (head.sha256 === undefined && head.md5 === undefined) return false;
  if (head.sha256 !== undefined && head.sha256 !== sha256) return false;
  return head.md5 === undefined || head.md5 === hashOf("md5", manifest);
}

/**
 * Reads the manifest that is there.
 *
 * @throws `UploadStop` `conflict`: it is not this one. `incomplete`: there is none any more.
 */
export async function compareManifest(
  bucket: S3Bucket,
  prefix: string,
  manifest: Buffer,
  signal: AbortSignal,
): Promise<void> {
  const found = await bucket.get(prefix + manifestFile, signal);
  if (found === undefined) throw new UploadStop("incomplete");
  if (!found.equals(manifest)) throw new UploadStop("conflict");
}
