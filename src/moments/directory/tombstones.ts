// <name>.tombstone.json: something that is forgotten here, and that a bucket may still have. It stays
// until the bucket agrees; until then what was forgotten does not come back here.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { isJsonObject } from "../../core/json.ts";
import {
  replaceFile,
  syncNames,
  unlinkIfThere,
  writeAll,
} from "../../core/storage/files/file-ports.ts";
import type { UploadError, UploadTarget } from "../package/package-format.ts";
import { endings, isSearchName, timeOf } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { readWhole } from "./read-package.ts";
import { isTarget } from "./status.ts";
import { foldedName, type Selection } from "./whose.ts";

export interface Tombstone {
  /** `failed`: it will not be done by itself. */
  readonly state: "pending" | "failed";
  /** Where it may be. A `prefix` of `""`: anywhere in the bucket, found by its name. */
  readonly places: readonly { readonly target: UploadTarget; readonly prefix: string }[];
  /** The package's files, for a bucket that cannot be listed. */
  readonly paths: readonly string[];
  /** Seconds since 1970. */
  readonly since: number;
  readonly error: UploadError | null;
}

/** `undefined`: there is none, or none that can be read. */
export async function readTombstone(
  { disk, path }: Pick<PackagePorts, "disk" | "path">,
  name: string,
): Promise<Tombstone | undefined> {
  const bytes = await readWhole(disk, join(path, name + endings.tombstone));
  try {
    const value: unknown = bytes && JSON.parse(bytes.toString("utf8"));
    if (isTombstone(value)) return value;
  } catch {
    // Damaged: below, as if it said nothing.
  }
  return bytes && anywhere(name);
}

/** What a tombstone says whose bytes are damaged: its name is enough. */
function anywhere(name: string): Tombstone {
  const target = { bucket: "", region: null, endpoint: null };
  const since = isSearchName(name) ? Number(name.split("_").at(-1)) : timeOf(name) / 1_000;
  return { state: "pending", places: [{ target, prefix: "" }], paths: [], since, error: null };
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

function isTombstone(value: unknown): value is Tombstone {
  if (!isJsonObject(value)) return false;
  const { state, places, paths, since } = value;
  const isPlace = (place: unknown) =>
    isJsonObject(place) && isTarget(place["target"]) && typeof place["prefix"] === "string";
  return (
    (state === "pending" || state === "failed") &&
    Array.isArray(places) &&
    places.every(isPlace) &&
    Array.isArray(paths) &&
    typeof since === "number"
  );
}

/**
 * The name of a tombstone for all that a bucket has of a selection. It does not tell whose that is; one
 * package has its own name.
 *
 * @param at when somebody asked, in seconds since 1970: what came later is not meant.
 */
export function searchName(selection: Selection, at: number): string {
  if ("name" in selection) return selection.name;
  return `search_${searchKey(selection)}_${Math.floor(at)}`;
}

function searchKey(selection: Exclude<Selection, { readonly name: string }>): string {
  if ("chatId" in selection) return `chat_${sha256(selection.chatId)}`;
  if ("person" in selection) return `person_${sha256(foldedName(selection.person))}`;
  if ("all" in selection) return `all_${sha256("")}`;
  const { chatId, id } = selection.message;
  return `message_${sha256(JSON.stringify([chatId, id]))}`;
}

/** Whether a search means a package: by the second of its reaction, and by whose it is. */
export function isSearchedFor(
  search: string,
  name: string,
  whose: {
    readonly chat_id: string | null;
    readonly people: readonly string[];
    readonly messages: readonly string[];
  },
): boolean {
  const [, by, hash, at] = search.split("_");
  if (timeOf(name) > Number(at) * 1_000) return false;
  const { chat_id: chatId, people, messages } = whose;
  if (by === "all") return true;
  if (by === "person") return people.some((one) => sha256(foldedName(one)) === hash);
  if (chatId === null) return false;
  if (by === "chat") return sha256(chatId) === hash;
  return messages.some((id) => sha256(JSON.stringify([chatId, id])) === hash);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
