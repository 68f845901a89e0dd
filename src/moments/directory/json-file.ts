// The small files beside packages: JSON of a declared shape, replaced whole.
import { is, type Shape } from "../../core/shape.ts";
import {
  replaceFile,
  syncNames,
  unlinkIfThere,
  writeAll,
} from "../../core/storage/files/file-ports.ts";
import { jsonOf } from "../package/read-manifest.ts";
import type { PackageStatus, Tombstone } from "../package/record.ts";
import { type Directory, pathOf } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { readWhole } from "./read-package.ts";

interface Notes {
  readonly status: PackageStatus;
  readonly tombstone: Tombstone;
}
type Beside = keyof Notes;

/** Reads what is noted beside a package. `undefined`: there is no file. `"unreadable"`: it is not of the shape. */
export async function readNote<T>(
  from: Directory,
  name: string,
  as: Beside,
  shape: Shape<T>,
): Promise<T | "unreadable" | undefined> {
  const bytes = await readWhole(from.disk, pathOf(from, name, as));
  if (bytes === undefined) return undefined;
  const value = jsonOf(bytes);
  return is(shape, value) ? value : "unreadable";
}

/** Replaces a note whole: after a power cut the old one is there, or the new one. */
export async function writeNote<As extends keyof Notes>(
  ports: PackagePorts,
  name: string,
  as: As,
  note: Notes[As],
): Promise<void> {
  ports.guard();
  const bytes = Buffer.from(`${JSON.stringify(note, null, 2)}\n`);
  await replaceFile(ports, pathOf(ports, name, as), (file) => writeAll(file, bytes, 0));
}

export async function removeNote(ports: PackagePorts, name: string, as: Beside): Promise<void> {
  ports.guard();
  if (await unlinkIfThere(ports.disk, pathOf(ports, name, as))) await syncNames(ports, ports.path);
}
