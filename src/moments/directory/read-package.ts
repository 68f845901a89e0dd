// Reading a package as far as anybody asks: its manifest, its words, one file, every byte. Changes nothing, so it can
// run beside a process that writes the directory.
import { join } from "node:path";
import { concurrently } from "../../core/concurrently.ts";
import { absent, corrupt, ThroughlineError } from "../../core/errors.ts";
import { is } from "../../core/shape.ts";
import { readExactly } from "../../core/storage/files/batch-reader.ts";
import { readFrom, rethrow } from "../../core/storage/files/file-ports.ts";
import { checkCount } from "../../core/storage/key.ts";
import {
  bytesIn,
  foldersOf,
  hashOf,
  manifestFile,
  mediaTypeOf,
  messagesFile,
} from "../package/content.ts";
import { damaged, type ManifestReading, readManifest, readMessages } from "../package/manifest.ts";
import {
  type FileEntry,
  type Manifest,
  type PackageMessage,
  type PackageStatus,
  pathShape,
} from "../package/record.ts";
import {
  assertThere,
  checkName,
  type Directory,
  entriesOf,
  isHere,
  isSeedName,
  maxFileBytes,
  pathOf,
  placeOf,
  readIfFile,
  readWhole,
  sizeIfThere,
} from "./names.ts";
import { readStatus } from "./notes.ts";

/** One way in which a folder is not what its manifest says. */
interface Difference {
  /** Within the folder. */
  readonly path: string;
  readonly kind: "manifest" | "missing" | "size" | "content" | "unlisted";
  /** For people; never what somebody said. */
  readonly detail: string;
}

interface Verification {
  readonly name: string;
  /**
   * `whole`: every listed file has its size and its SHA-256, and nothing else is there. `newer`: of a
   * later schema, so it cannot be judged here. `seed`: as the original wrote it, without a seal.
   */
  readonly state: "whole" | "damaged" | "newer" | "seed";
  /** In the manifest's order; empty for `whole`, `newer` and `seed`. */
  readonly differences: readonly Difference[];
}

export interface ReadPackage {
  readonly manifest: Manifest;
  /** Empty when messages.json is damaged: `incomplete` says so. */
  readonly messages: readonly PackageMessage[];
  /** `undefined`: the status cannot be read. */
  readonly status: PackageStatus | undefined;
  /** Files that are not there, or of another size, or words that cannot be read. */
  readonly incomplete: readonly Difference[];
}

/** The manifest of a package. Its own name must be the one that it is looked up by. */
export async function readFolder(from: Directory, name: string): Promise<ManifestReading> {
  const bytes = await readIfFile(from.disk, join(pathOf(from, name), manifestFile));
  if (bytes === undefined) return damaged("there is no feedback.json, or it is no file");
  const reading = readManifest(bytes);
  if (reading.manifest === undefined || reading.manifest.name === name) return reading;
  return damaged("feedback.json is that of another package");
}

/** @throws as `PackageReader.read` */
async function manifestOf(from: Directory, name: string): Promise<Manifest> {
  checkName(name);
  const { manifest, problem } = await readFolder(from, name);
  if (manifest !== undefined) return manifest;
  await assertThere(from, name);
  const code = problem?.kind === "newer" ? "THROUGHLINE_NEWER_FORMAT" : "THROUGHLINE_CORRUPT";
  throw new ThroughlineError(`${name}: ${problem?.detail ?? "unreadable"}`, { code });
}

/** See `PackageReader.read`. */
export async function readPackage(from: Directory, name: string): Promise<ReadPackage> {
  const manifest = await manifestOf(from, name);
  const incomplete = await differencesIn(from, manifest, "size");
  const bytes = await readIfFile(from.disk, join(pathOf(from, name), messagesFile));
  const messages = bytes === undefined ? undefined : readMessages(bytes);
  if (messages === undefined && !incomplete.some(({ path }) => path === messagesFile)) {
    incomplete.push({ path: messagesFile, kind: "content", detail: "its messages are damaged" });
  }
  const status = await readStatus(from, name);
  if (incomplete.length > 0) await assertThere(from, name); // else it left while it was read
  return { manifest, messages: messages ?? [], status, incomplete };
}

/** A file of a package, or a part of it, as it is sent to a reader. */
export interface PackageFile {
  readonly path: string;
  readonly mediaType: string;
  /** How long the whole file is, in bytes. */
  readonly size: number;
  readonly bytes: Buffer;
}

function noSuchFile(name: string): ThroughlineError {
  return absent(`${name} has no such file`);
}

/** Reads every byte of a package, and compares it with its manifest. */
export async function verifyFolder(
  from: Directory,
  name: string,
): Promise<Verification & { readonly manifest?: Manifest }> {
  const { manifest, problem } = await readFolder(from, name);
  if (manifest === undefined) {
    const { kind, detail } = problem;
    if (kind === "newer" || kind === "seed") return { name, state: kind, differences: [] };
    const differences = [{ path: manifestFile, kind: "manifest", detail } as const];
    return { name, state: "damaged", differences };
  }
  const differences = await differencesIn(from, manifest, "content");
  const listed = new Set([manifestFile, ...manifest.files.map(({ path }) => path)]);
  for (const path of await pathsIn(from, manifest)) {
    if (listed.has(path)) continue;
    differences.push({ path, kind: "unlisted", detail: "not of this package" });
  }
  return { name, state: differences.length > 0 ? "damaged" : "whole", differences, manifest };
}

/** One after the other, a disk's answers take longer than what is done with them. */
const readsAtOnce = 8;

/** Compares the files of a folder with its manifest: their names and sizes alone, or every byte. */
async function differencesIn(
  from: Directory,
  { name, files }: Manifest,
  upTo: "size" | "content",
): Promise<Difference[]> {
  const { disk } = from;
  const folder = pathOf(from, name);
  const compare = async ({ path, bytes, sha256 }: FileEntry): Promise<Difference | undefined> => {
    const place = join(folder, path);
    const size = await sizeIfThere(disk, place);
    if (size === undefined) return { path, kind: "missing", detail: "listed, and not there" };
    if (size !== bytes) return { path, kind: "size", detail: `${size} bytes instead of ${bytes}` };
    if (upTo === "size") return undefined;
    const content = await readWhole(disk, place);
    if (content !== undefined && hashOf("sha256", [content]) === sha256) return undefined;
    return { path, kind: "content", detail: "its SHA-256 is another" };
  };
  const found: (Difference | undefined)[] = [];
  await concurrently(files, readsAtOnce, async (file, index) => {
    found[index] = await compare(file);
  });
  return found.filter((difference) => difference !== undefined);
}

/** The paths of all that is in a folder, as far as its manifest knows folders. */
async function pathsIn(from: Directory, { name, files }: Manifest): Promise<readonly string[]> {
  const folder = pathOf(from, name);
  const directories = foldersOf(files);
  const found: string[] = [];
  for (const { name: entry, kind } of (await entriesOf(from.disk, folder)) ?? []) {
    if (kind === "directory" && directories.has(entry)) {
      const inner = (await entriesOf(from.disk, join(folder, entry))) ?? [];
      found.push(...inner.map((each) => `${entry}/${each.name}`));
    } else found.push(entry);
  }
  return found.sort();
}

export interface ListOptions {
  /** Only packages after this one in the list: the `next` of the page before. */
  readonly before?: string | undefined;
  /**
   * Packages on a page, 1 to 500.
   * @default 50
   */
  readonly limit?: number | undefined;
}

export interface PackageEntry {
  readonly name: string;
  /**
   * `sealed`: its manifest is right and each file that it lists is there by name; sizes and content
   * are for `read` and `verify`. `newer`: of a later schema. `seed`: as the original wrote it. `bucket`:
   * only a bucket has its files.
   */
  readonly state: "sealed" | "damaged" | "newer" | "seed" | "bucket";
  /** What is wrong, or `null`. */
  readonly detail: string | null;
  readonly manifest: Manifest | undefined;
  /** `undefined`: the status cannot be read. */
  readonly status: PackageStatus | undefined;
  /** Of the files that the manifest lists; 0 without one. */
  readonly bytes: number;
}

interface PackagePage {
  readonly packages: readonly PackageEntry[];
  /** For the next page's `before`; `null` on the last page. */
  readonly next: string | null;
}

/** `undefined`: it was deleted since it was listed, or is still on its way to a bucket. */
async function entryOf(
  from: Directory,
  name: string,
  isFolder: boolean,
): Promise<PackageEntry | undefined> {
  const { manifest, problem } = isFolder ? await readFolder(from, name) : {};
  const status = await readStatus(from, name);
  const entry = { name, detail: problem?.detail ?? null, manifest, status, bytes: 0 };
  if (!isFolder) return status?.uploaded.length === 0 ? undefined : { ...entry, state: "bucket" };
  const there = new Set(manifest === undefined ? [] : await pathsIn(from, manifest));
  const missing = manifest?.files.filter(({ path }) => !there.has(path)).length;
  const bytes = bytesIn(manifest?.files ?? []);
  if (missing === 0) return { ...entry, state: "sealed", bytes };
  if (!(await isHere(from, name))) return entryOf(from, name, false); // it left while it was read
  if (missing === undefined) return { ...entry, state: problem?.kind ?? "damaged" };
  return { ...entry, state: "damaged", detail: `${missing} of its files are not there`, bytes };
}

/** Tells of what the disk refuses in words for people. */
export function reaching<T>(what: string, work: () => Promise<T>): Promise<T> {
  return work().catch((error) => rethrow(what, error));
}

/** What an export reads. */
export type ReadPackages = Pick<PackageReader, "entries" | "read" | "part" | "verify">;

/** What can be read of a directory, also while another process changes it: nothing is made, finished or removed. */
export class PackageReader {
  readonly #from: Directory;

  constructor(from: Directory) {
    this.#from = from;
  }

  /**
   * One page, newest first by the second of the trigger, which stands in the name; within one second in
   * no order that is promised. Opens only the packages on the page.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: `before` is not the name of a package, or `limit` is
   *   not a whole number from 1 to 500.
   */
  list({ before, limit = 50 }: ListOptions = {}): Promise<PackagePage> {
    return reaching("the packages", async () => {
      checkCount(limit, "limit", 1, 500);
      if (before !== undefined && !isSeedName(before)) checkName(before);
      const folders = new Set<string>();
      const noted: string[] = [];
      for (const { name, kind } of (await entriesOf(this.#from.disk, this.#from.path)) ?? []) {
        const place = placeOf(name);
        const isFolder = kind === "directory" && (place?.as === "package" || isSeedName(name));
        if (isFolder) folders.add(name);
        if (place?.as === "status") noted.push(place.name);
      }
      const names = [...new Set([...folders, ...noted])]
        .filter((name) => before === undefined || name < before)
        .sort()
        .reverse();
      const page = names.slice(0, limit);
      const packages: PackageEntry[] = [];
      for (const name of page) {
        const entry = await entryOf(this.#from, name, folders.has(name));
        if (entry !== undefined) packages.push(entry);
      }
      return { packages, next: names.length > limit ? (page.at(-1) ?? null) : null };
    });
  }

  /** Every package, newest first, page by page. */
  async *entries(): AsyncGenerator<PackageEntry, void> {
    let before: string | undefined;
    do {
      const page: PackagePage = await this.list({ limit: 500, before });
      yield* page.packages;
      before = page.next ?? undefined;
    } while (before !== undefined);
  }

  /** Whether a package of this name is there, whatever its state. */
  has(name: string): Promise<boolean> {
    return reaching(name, async () => {
      checkName(name);
      return isHere(this.#from, name);
    });
  }

  /**
   * Reads a package without its pictures and its sound, and looks whether they are there.
   *
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`, `THROUGHLINE_CORRUPT`: the manifest is damaged;
   * `THROUGHLINE_NEWER_FORMAT`.
   */
  read(name: string): Promise<ReadPackage> {
    return reaching(name, () => readPackage(this.#from, name));
  }

  /**
   * Reads one file of a package, or its bytes from `start` up to `end`: the manifest, or one that it lists. No other
   * path is ever opened.
   *
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: not of this package; `THROUGHLINE_CORRUPT`: of
   * another size than listed.
   */
  file(name: string, path: string, start = 0, end = Infinity): Promise<PackageFile> {
    return reaching(name, async () => {
      const { files } = await manifestOf(this.#from, name);
      const listed = files.find((file) => file.path === path);
      if (listed === undefined && path !== manifestFile) throw noSuchFile(name);
      const place = join(pathOf(this.#from, name), path);
      const read = await readFrom(this.#from.disk, place, async (file) => {
        const size = await file.size();
        const length = Math.min(end, size) - start;
        const isSealed = size === (listed?.bytes ?? size) && length <= maxFileBytes;
        return isSealed
          ? { size, bytes: await readExactly(file, start, Math.max(length, 0)) }
          : undefined;
      });
      if (read === undefined) {
        await assertThere(this.#from, name);
        throw corrupt(`${name}/${path} is not as it was sealed`);
      }
      // By its name: what another machine wrote into a manifest is not what a browser may be told.
      return { path, mediaType: mediaTypeOf(path), ...read };
    });
  }

  /**
   * The bytes of one file of a package, `feedback.json` too, as they are: the sender compares them first.
   *
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: it is gone, or no package has such a file.
   */
  part(name: string, file: string): Promise<Buffer> {
    return reaching(name, async () => {
      checkName(name);
      // A path that no manifest can list is that of no package, whatever may be there.
      const isOurs = file === manifestFile || is(pathShape, file);
      const { disk } = this.#from;
      const bytes = isOurs && (await readIfFile(disk, join(pathOf(this.#from, name), file)));
      if (!bytes) throw noSuchFile(name);
      return bytes;
    });
  }

  /** Compares every byte of a package with its manifest. @throws `THROUGHLINE_NOT_FOUND` */
  verify(name: string): Promise<Verification> {
    return reaching(name, async () => {
      checkName(name);
      const { state, differences } = await verifyFolder(this.#from, name);
      await assertThere(this.#from, name);
      return { name, state, differences };
    });
  }

  /** What became of a package. `undefined`: the status cannot be read. */
  status(name: string): Promise<PackageStatus | undefined> {
    return reaching(name, async () => {
      checkName(name);
      return readStatus(this.#from, name);
    });
  }
}
