// <name>.tombstone.json: something that is forgotten here, and that a bucket may still have. It stays
// until the bucket agrees; until then what was forgotten does not come back here.
import { join } from "node:path";
import { is } from "../../core/shape.ts";
import {
  replaceFile,
  syncNames,
  unlinkIfThere,
  writeAll,
} from "../../core/storage/files/file-ports.ts";
import { type Tombstone, tombstoneShape } from "../package/record.ts";
import { endings, timeOf } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { readWhole } from "./read-package.ts";
import { isSamePlace, joinPlaces } from "./status.ts";

/** `undefined`: there is none. */
export async function readTombstone(
  { disk, path }: Pick<PackagePorts, "disk" | "path">,
  name: string,
): Promise<Tombstone | undefined> {
  const bytes = await readWhole(disk, join(path, name + endings.tombstone));
  try {
    const value: unknown = bytes && JSON.parse(bytes.toString("utf8"));
    if (is(tombstoneShape, value)) return value;
  } catch {
    // Damaged: what is to be deleted here is told by its name, and nothing tells where else it is.
  }
  const error = { class: "local_damage", code: null, status: null };
  return bytes && { state: "dead", places: [], since: timeOf(name) / 1_000, error };
}

/** Survives a power cut when it resolves. */
export async function writeTombstone(
  ports: PackagePorts,
  name: string,
  tombstone: Tombstone,
): Promise<void> {
  ports.guard();
  const bytes = Buffer.from(`${JSON.stringify(tombstone, undefined, 2)}\n`);
  await replaceFile(ports, join(ports.path, name + endings.tombstone), (file) =>
    writeAll(file, bytes, 0),
  );
}

/** The bucket agrees. */
export async function removeTombstone(ports: PackagePorts, name: string): Promise<void> {
  const { disk, path } = ports;
  if (await unlinkIfThere(disk, join(path, name + endings.tombstone))) await syncNames(ports, path);
}

/** Adds a place in which something of a package is to be deleted. */
export async function addPlace(
  ports: PackagePorts,
  name: string,
  place: Tombstone["places"][number],
  since: number,
): Promise<void> {
  const { places: before = [] } = (await readTombstone(ports, name)) ?? {};
  const places = joinPlaces(before, [place]);
  await writeTombstone(ports, name, { state: "pending", places, since, error: null });
}

/** Notes that nothing is left in these places; the tombstone goes when there are no others by now. */
export async function removePlaces(
  ports: PackagePorts,
  name: string,
  places: Tombstone["places"],
): Promise<void> {
  const tombstone = await readTombstone(ports, name);
  const left = tombstone?.places.filter((place) => !places.some((one) => isSamePlace(one, place)));
  if (tombstone === undefined || !left?.length) return removeTombstone(ports, name);
  await writeTombstone(ports, name, { ...tombstone, places: left });
}
