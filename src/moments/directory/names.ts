// What stands in a directory of packages, by name. A name is all that tells what a thing is before
// it is read, so it is checked by its exact shape: nothing from outside becomes a path otherwise.
import { invalid } from "../../core/errors.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import { isPackageName } from "../package/package-name.ts";
import { entriesOf } from "./remove-tree.ts";

const ofSeed = /^\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}_[a-z]{1,32}_fb_[0-9a-f]{6}$/;

/** The endings that a package's name gets: while it is made, when it is removed, and beside it. */
export const endings = {
  partial: ".partial",
  deleting: ".deleting",
  status: ".status.json",
  tombstone: ".tombstone.json",
} as const;

export type Ending = keyof typeof endings;

/** Whether a folder has the name that the original gave its packages: 6 digits, local time. */
export const isSeedName = (name: string): boolean => ofSeed.test(name);

/** @throws ThroughlineError `THROUGHLINE_INVALID`: not a name; it is not repeated in the message. */
export function checkName(name: string): void {
  if (!isPackageName(name)) throw invalid("this is not the name of a package");
}

export interface Place {
  readonly name: string;
  readonly as: Ending | "package";
}

/** Which package a name in the directory belongs to, and as what. `undefined`: none of ours. */
export function placeOf(entry: string): Place | undefined {
  const isPackage: boolean = isPackageName(entry);
  if (isPackage) return { name: entry, as: "package" };
  for (const as of Object.keys(endings) as readonly Ending[]) {
    const ending = endings[as];
    if (!entry.endsWith(ending)) continue;
    const name = entry.slice(0, -ending.length);
    if (isPackageName(name)) return { name, as };
  }
  return undefined;
}

/** Everything of packages in a directory, by the names of the packages, oldest first. Reads none of it. */
export async function placesIn({
  disk,
  path,
}: {
  readonly disk: Disk;
  readonly path: string;
}): Promise<readonly Place[]> {
  const places = ((await entriesOf(disk, path)) ?? []).flatMap(({ name }) => placeOf(name) ?? []);
  return places.sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** The instant in a name, in milliseconds since 1970: the whole second of the trigger, UTC. */
export function timeOf(name: string): number {
  const [date = "", time = ""] = name.slice(0, 19).split("T");
  return Date.parse(`${date}T${time.replaceAll("-", ":")}Z`);
}

/** The last 12 digits: the `id` of the record. */
export const idOf = (name: string): string => name.slice(-12);
