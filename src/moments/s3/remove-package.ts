import { manifestFile, retractionFile } from "./object-key.ts";
import type { S3Bucket } from "./s3-bucket.ts";
import { UploadStop } from "./upload-stop.ts";

/** A request that was stopped may still arrive: what it leaves is looked for again. */
const rounds = 3;

/**
 * Removes every object of a package, the manifest first, so that no reader ever sees it without its
 * files. Resolves when nothing is left under the prefix.
 *
 * @param paths what is removed where nothing can be listed.
 * @returns how many keys were removed, and whether the bucket keeps older versions of them.
 */
export async function removePackage(
  bucket: S3Bucket,
  prefix: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly keys: number; readonly versionsRemain: boolean }> {
  let keys = 0;
  let versionsRemain = false;
  const remove = async (key: string) => {
    const answer = await bucket.remove(key, signal);
    keys++;
    versionsRemain ||= answer.versionsRemain;
  };
  await remove(prefix + manifestFile);
  for (let round = 0; round < rounds; round++) {
    const listed = await bucket.list(prefix, signal);
    if (listed === undefined) {
      for (const path of [...paths, retractionFile]) await remove(prefix + path);
      return { keys, versionsRemain };
    }
    if (listed.size === 0) return { keys, versionsRemain };
    const manifestKey = prefix + manifestFile;
    if (listed.has(manifestKey)) await remove(manifestKey);
    for (const key of listed.keys()) if (key !== manifestKey) await remove(key);
  }
  throw new UploadStop("incomplete");
}
