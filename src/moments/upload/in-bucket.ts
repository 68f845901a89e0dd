// What the bucket alone has: looked for because somebody asks, taken back, removed.
import type { Clock } from "../../core/clock.ts";
import { isThroughlineError } from "../../core/errors.ts";
import type { DeleteReceipt } from "../directory/delete-packages.ts";
import type { Mark, PackageDirectory } from "../directory/package-directory.ts";
import { searchName } from "../directory/tombstones.ts";
import type { Selection } from "../directory/whose.ts";
import { foldersIn, isAbandoned } from "../s3/find-packages.ts";
import { removePackage } from "../s3/remove-package.ts";
import type { UploadLoop } from "./upload-loop.ts";

export interface SweepReceipt {
  /** Removed. */
  readonly remote: DeleteReceipt["remote"];
  /** False: not all of the bucket could be looked at. */
  readonly isBucketSearched: boolean;
}

/**
 * Looks through all of the bucket for what is to be forgotten, now or as soon as it answers.
 *
 * @returns whether all of it was looked at.
 */
export async function forgetInBucket(
  packages: PackageDirectory,
  loop: UploadLoop | undefined,
  selection: Selection,
  clock: Clock,
): Promise<boolean> {
  if (loop === undefined) return true;
  const name = searchName(selection, clock.now() / 1_000);
  await packages.bury(name, "");
  await loop.idle();
  return (await packages.tombstone(name)) === undefined;
}

/**
 * Takes a judgement back, here or in the bucket.
 *
 * @returns where the package is, as far as that is known.
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: it is not here, and not in the bucket.
 */
export async function retractPackage(
  packages: PackageDirectory,
  loop: UploadLoop | undefined,
  name: string,
  mark: Mark,
): Promise<"here" | "bucket"> {
  try {
    await packages.retract(name, mark);
    return (await packages.has(name)) ? "here" : "bucket";
  } catch (error) {
    if (loop === undefined || !isThroughlineError(error, "THROUGHLINE_NOT_FOUND")) throw error;
    let isThere = false;
    const failure = await loop.once(name, async (bucket, signal) => {
      for await (const folder of foldersIn(bucket, signal)) {
        isThere ||= folder.name === name && folder.isSealed;
      }
    });
    if (!isThere && failure === undefined) throw error;
    await packages.retractInBucket(name, mark);
    return "bucket";
  }
}

/** Removes what uploads left that were cut off a day ago or longer, of any device. */
export async function sweepBucket(
  packages: PackageDirectory,
  loop: UploadLoop | undefined,
  bucket: string,
  clock: Clock,
): Promise<SweepReceipt> {
  const remote: DeleteReceipt["remote"][number][] = [];
  const failure = await loop?.once("", async (opened, signal) => {
    const known = new Set((await packages.noted()).map(({ name }) => name));
    for await (const folder of foldersIn(opened, signal)) {
      const { name, prefix } = folder;
      if (!isAbandoned(folder, clock.now()) || known.has(name)) continue;
      await removePackage(opened, prefix, [], signal);
      remote.push({ name, bucket, prefix });
    }
  });
  return { remote, isBucketSearched: failure === undefined };
}
