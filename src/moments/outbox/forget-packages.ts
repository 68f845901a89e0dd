// Undoing, wherever a package is: here, in the bucket, or where nobody can look now.
import { isThroughlineError } from "../../core/errors.ts";
import type { DeleteReceipt, Selection } from "../directory/delete-packages.ts";
import type { Mark, PackageDirectory } from "../directory/package-directory.ts";
import type { Forgotten } from "./remote-packages.ts";
import type { UnattendedNotes } from "./unattended.ts";
import type { Uploader } from "./uploader.ts";

export interface ForgetReceipt extends DeleteReceipt {
  /**
   * False: copies that are in the bucket alone may be left, since it was away, or nobody knew it. The
   * search is owed: it is made, and deletes what it finds, once the bucket is to be had.
   */
  readonly isBucketSearched: boolean;
}

type Search = (selection: Selection) => Promise<Forgotten>;

/** Those here, with the copies that their statuses know of; then those that the bucket alone has. */
export async function forgetPackages(
  packages: PackageDirectory,
  search: Search,
  selection: Selection,
): Promise<ForgetReceipt> {
  const receipt = await packages.delete(selection);
  const isFound = "name" in selection && receipt.packages + receipt.remote.length > 0;
  if (isFound) return { ...receipt, isBucketSearched: true };
  const { copies, isWhole } = await search(selection);
  return { ...receipt, remote: [...receipt.remote, ...copies], isBucketSearched: isWhole };
}

/** Where nobody sends: the search is owed, if ever a bucket was named. */
export function searchLater(notes: UnattendedNotes): Search {
  return async (selection) => ({ copies: [], isWhole: !(await notes.search(selection)) });
}

/** Now, or as soon as the bucket is to be had. */
export function searchBy(uploader: Uploader | undefined): Search | undefined {
  return uploader && ((selection) => uploader.remote.forget(selection));
}

/**
 * @returns where it is, as far as that is known.
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: it is not here, and not in the bucket.
 */
export async function retractPackage(
  packages: PackageDirectory,
  uploader: Uploader | undefined,
  name: string,
  mark: Mark,
): Promise<"here" | "bucket"> {
  try {
    await packages.retract(name, mark);
    return (await packages.has(name)) ? "here" : "bucket";
  } catch (error) {
    if (uploader === undefined || !isThroughlineError(error, "THROUGHLINE_NOT_FOUND")) throw error;
    if (!(await uploader.remote.retract(name, mark))) throw error;
    return "bucket";
  }
}
