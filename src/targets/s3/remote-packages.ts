import { type Manifest, readManifest } from "../../memories/moment/package-format.ts";
import { manifestFile } from "./object-key.ts";
import type { S3Bucket } from "./s3-bucket.ts";
import { S3Error } from "./s3-port.ts";

export interface RemotePackage {
  /** Of each of its keys, with the last slash. */
  readonly prefix: string;
  /** `undefined`: what lies there is no manifest that we can read. */
  readonly manifest: Manifest | undefined;
}

/**
 * Every package of a bucket, by one listing and one GET a manifest: how those are found that are on
 * no disk of ours any more.
 *
 * @throws `S3Error` `AccessDenied`: there is no right to list.
 */
export async function* remotePackages(
  bucket: S3Bucket,
  signal: AbortSignal,
): AsyncGenerator<RemotePackage> {
  const listed = await bucket.list("feedback/", signal);
  if (listed === undefined)
    throw new S3Error({ kind: "answer", code: "AccessDenied", status: 403 });
  for (const key of listed.keys()) {
    if (!key.endsWith(`/${manifestFile}`)) continue;
    const bytes = await bucket.get(key, signal);
    if (bytes === undefined) continue; // removed meanwhile
    const prefix = key.slice(0, -manifestFile.length);
    yield { prefix, manifest: readManifest(bytes).manifest };
  }
}
