import type { Timers } from "../../timers.ts";
import { isPackageName, type Manifest, readManifest } from "../package/package-format.ts";
import { DeadlinePassed } from "./deadline.ts";
import { manifestFile } from "./object-key.ts";
import type { S3Bucket } from "./s3-bucket.ts";

interface RemotePackage {
  /** Of each of its keys, with the last slash. */
  readonly prefix: string;
  readonly manifest: Manifest;
}

const everything = "feedback/";
/** A bucket is searched for no longer, in milliseconds: somebody waits. */
const searchMs = 60_000;

export interface Wanted {
  /** Whether a package of this name is to be looked at: it costs a request. */
  isWanted(name: string): boolean | Promise<boolean>;
  holds(manifest: Manifest): boolean;
}

/**
 * The packages of a bucket that are wanted, of those that are sealed and can be read: a page of keys
 * and then one manifest at a time. For those that are nowhere else.
 *
 * @throws DeadlinePassed after a minute.
 */
export async function* findWanted(
  bucket: S3Bucket,
  wanted: Wanted,
  timers: Timers,
  outer: AbortSignal,
): AsyncGenerator<RemotePackage, void> {
  const late = new AbortController();
  const tooLong = new DeadlinePassed(`the bucket was searched for ${searchMs} ms`);
  const cancel = timers.after(searchMs, () => late.abort(tooLong));
  try {
    yield* allWanted(bucket, wanted, AbortSignal.any([outer, late.signal]));
  } finally {
    cancel();
  }
}

async function* allWanted(
  bucket: S3Bucket,
  { isWanted, holds }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<RemotePackage, void> {
  let after: string | undefined;
  do {
    const page = await bucket.page(everything, after, signal);
    for (const { key } of page.objects) {
      if (!key.endsWith(`/${manifestFile}`)) continue;
      const prefix = key.slice(0, -manifestFile.length);
      const name = prefix.split("/").at(-2) ?? "";
      if (!isPackageName(name) || !(await isWanted(name))) continue;
      const bytes = await bucket.get(key, signal);
      const { manifest } = bytes === undefined ? {} : readManifest(bytes);
      // Only under its own name: what somebody else put there is nobody's to remove.
      if (manifest?.name === name && holds(manifest)) yield { prefix, manifest };
    }
    after = page.next;
  } while (after !== undefined);
}
