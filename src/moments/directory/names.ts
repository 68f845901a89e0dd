// What stands in a directory of packages, by name. A name is all that tells what a thing is before
// it is read, so it is checked by its exact shape: nothing from outside becomes a path otherwise.
import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { absent, invalid } from "../../core/errors.ts";
import type { NewId } from "../../core/ids.ts";
import type { Logger } from "../../core/logger.ts";
import type { KeyedMutex } from "../../core/mutex.ts";
import type { Disk, DiskEntry } from "../../core/storage/disk/disk.ts";
import { readExactly } from "../../core/storage/files/batch-reader.ts";
import { isCode, isThere, readFrom, unlessAbsent } from "../../core/storage/files/file-ports.ts";
import { isPackageName } from "../package/package-name.ts";
import type { UploadTarget } from "../package/record.ts";

const ofSeed = /^\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}_[a-z]{1,32}_fb_[0-9a-f]{6}$/;

/** The endings that a package's name gets: none, while it is made or removed, and beside it. */
const endings = {
  package: "",
  partial: ".partial",
  status: ".status.json",
  tombstone: ".tombstone.json",
} as const;

export type As = keyof typeof endings;

/** A directory of packages, as far as it is only read. */
export interface Directory {
  readonly disk: Disk;
  readonly path: string;
}

/** Where packages go that somebody agreed to upload. */
interface UploadSettings {
  readonly target: UploadTarget;
  /** Whether a package stays on this machine once it is in the bucket: not in mode `s3`. */
  readonly keepLocal: boolean;
}

/** Who sends packages: it hears what there is to be done, and lets go of what is deleted. */
export interface Sender {
  /** Something of this name is to be sent: a package, a retraction or a deletion. */
  pending(name: string): void;
  /** Ends what is being sent of a package that has a tombstone, and forgets what was to be sent of it. */
  stop(name: string): Promise<void>;
}

export interface PackageDirectoryOptions {
  /** @default the machine's */
  readonly disk?: Disk;
  /** The directory; made when absent. */
  readonly path: string;
  readonly clock?: Clock | undefined;
  readonly newId?: NewId | undefined;
  readonly logger?: Logger;
  /** Throws when this process is no longer the one writer. Called before each step that counts. */
  readonly guard?: () => void;
  /** How many bytes packages can still take there; it may be wrong. Default: not known, and writing will show. */
  readonly freeSpace?: (path: string) => Promise<number>;
  /** Where packages go that somebody agreed to upload. Default: they stay here. */
  readonly upload?: UploadSettings | undefined;
}

/** What every move in a directory of packages needs. */
export interface PackagePorts
  extends Required<Omit<PackageDirectoryOptions, "freeSpace" | "upload">>,
    Pick<PackageDirectoryOptions, "freeSpace" | "upload"> {
  /** Directories in which a name was changed and whose sync failed: see `syncNames`. */
  readonly unsyncedNames: Set<string>;
  /** One change of a package at a time. */
  readonly changes: KeyedMutex;
  sender: Sender | undefined;
}

/** Seconds since 1970 with 3 decimals: as all wall times of a package are. */
export function secondsNow(clock: Clock): number {
  return Math.round(clock.now()) / 1_000;
}

/** Where a package is, or what belongs to it. */
export const pathOf = ({ path }: Directory, name: string, as: As = "package"): string =>
  join(path, name + endings[as]);

export const isHere = (directory: Directory, name: string, as?: As): Promise<boolean> =>
  isThere(directory.disk, pathOf(directory, name, as));

/** Whether a folder has the name that the original gave its packages: 6 digits, local time. */
export const isSeedName = (name: string): boolean => ofSeed.test(name);

/** @throws ThroughlineError `THROUGHLINE_INVALID`: not a name; it is not repeated in the message. */
export function checkName(name: string): void {
  if (!isPackageName(name)) throw invalid("this is not the name of a package");
}

/** @throws ThroughlineError `THROUGHLINE_NOT_FOUND` */
export async function assertThere(from: Directory, name: string): Promise<void> {
  checkName(name);
  if (await isHere(from, name)) return;
  throw absent(`there is no package ${name}`);
}

/** Which package a name in the directory belongs to, and as what. `undefined`: none of ours. */
export function placeOf(entry: string): { readonly name: string; readonly as: As } | undefined {
  for (const as of Object.keys(endings) as readonly As[]) {
    const name = entry.slice(0, entry.length - endings[as].length);
    if (isPackageName(name) && entry === name + endings[as]) return { name, as };
  }
  return undefined;
}

/** What there is of each package in a directory, by name, oldest first. Reads none of it. */
export async function placesIn(directory: Directory): Promise<ReadonlyMap<string, Set<As>>> {
  const entries = (await entriesOf(directory.disk, directory.path)) ?? [];
  const places = new Map<string, Set<As>>();
  for (const entry of entries.map(({ name }) => name).sort()) {
    const { name, as } = placeOf(entry) ?? {};
    if (name === undefined || as === undefined) continue;
    places.set(name, (places.get(name) ?? new Set()).add(as));
  }
  return places;
}

/** The instant in a name, in milliseconds since 1970: the whole second of the trigger, UTC. */
export function timeOf(name: string): number {
  const [date = "", time = ""] = name.slice(0, 19).split("T");
  return Date.parse(`${date}T${time.replaceAll("-", ":")}Z`);
}

/** What is in a directory; `undefined` if there is none. */
export async function entriesOf(
  disk: Disk,
  path: string,
): Promise<readonly DiskEntry[] | undefined> {
  return disk.list(path).catch(unlessAbsent);
}

export async function sizeIfThere(disk: Disk, path: string): Promise<number | undefined> {
  return disk.size(path).catch(unlessAbsent);
}

/** Larger is no file of a package, and is not read into memory. */
export const maxFileBytes = 64 * 1024 * 1024;

/** All of a file. `undefined` if there is none, or if it is larger than anything of ours. */
export async function readWhole(disk: Disk, path: string): Promise<Buffer | undefined> {
  return readFrom(disk, path, async (file) => {
    const size = await file.size();
    return size > maxFileBytes ? undefined : readExactly(file, 0, size);
  });
}

/** The same. `undefined` also for a directory, a pipe, or a link, which is never followed. */
export async function readIfFile(disk: Disk, path: string): Promise<Buffer | undefined> {
  return readWhole(disk, path).catch((error) => {
    if (!isCode(error, "EISDIR", "ELOOP", "ENOTDIR", "ENXIO")) throw error;
    return undefined;
  });
}

/** A failure in a word, for logs: its code, or its name. */
export function codeOf(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  if (typeof code === "string") return code;
  return error instanceof Error ? error.name : "unknown";
}
