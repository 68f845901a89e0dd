// <name>.tombstone.json: something that is forgotten here, and that a bucket may still have. It stays
// until the bucket agrees; until then what was forgotten does not come back here.
import { type Tombstone, tombstoneShape } from "../package/record.ts";
import { type Reading, readNote, removeNote, writeNote } from "./json-file.ts";
import { timeOf } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { isSamePlace } from "./status.ts";

/** `undefined`: there is none. */
export async function readTombstone(from: Reading, name: string): Promise<Tombstone | undefined> {
  const tombstone = await readNote(from, name, "tombstone", tombstoneShape);
  if (tombstone !== "unreadable") return tombstone;
  // What is to be deleted here is told by its name, and nothing tells where else it is.
  const error = { class: "local_damage", code: null, status: null };
  return { state: "dead", places: [], since: timeOf(name) / 1_000, error };
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
