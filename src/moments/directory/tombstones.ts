// <name>.tombstone.json: something that is forgotten here, and that a bucket may still have. It stays
// until the bucket agrees; until then what was forgotten does not come back here.
import { type BucketPlace, type Tombstone, tombstoneShape } from "../package/record.ts";
import { readNote, removeNote, writeNote } from "./json-file.ts";
import { type Directory, timeOf } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { isSamePlace, joinPlaces } from "./status.ts";

/** `undefined`: there is none. */
export async function readTombstone(from: Directory, name: string): Promise<Tombstone | undefined> {
  const tombstone = await readNote(from, name, "tombstone", tombstoneShape);
  if (tombstone !== "unreadable") return tombstone;
  // What is to be deleted here is told by its name, and nothing tells where else it is.
  const error = { class: "local_damage", code: null, status: null };
  return { state: "dead", places: [], since: timeOf(name) / 1_000, error };
}

/** Notes that something is to be deleted in these places, and in those that were noted before. */
export async function addTombstone(
  ports: PackagePorts,
  name: string,
  more: readonly BucketPlace[],
  since: number,
): Promise<void> {
  const { places: before = [] } = (await readTombstone(ports, name)) ?? {};
  const places = joinPlaces(before, more);
  await writeNote(ports, name, "tombstone", { state: "pending", places, since, error: null });
}

/** Notes that nothing is left in these places; the tombstone goes when there are no others by now. */
export async function removePlaces(
  ports: PackagePorts,
  name: string,
  places: Tombstone["places"],
): Promise<void> {
  const tombstone = await readTombstone(ports, name);
  const left = tombstone?.places.filter((place) => !places.some((one) => isSamePlace(one, place)));
  if (tombstone === undefined || !left?.length) return removeNote(ports, name, "tombstone");
  await writeNote(ports, name, "tombstone", { ...tombstone, places: left });
}
