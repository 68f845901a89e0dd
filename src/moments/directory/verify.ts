import { join } from "node:path";
import { concurrently } from "../../core/concurrently.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import { isCode } from "../../core/storage/files/file-ports.ts";
import { foldersOf, manifestFile } from "../package/content.ts";
import type { FileEntry, Manifest } from "../package/record.ts";
import { type Directory, entriesOf, pathOf } from "./names.ts";
import { hashFile, readFolder } from "./read-package.ts";

/** One after the other, a disk's answers take longer than what is done with them. */
const readsAtOnce = 8;

/** One way in which a folder is not what its manifest says. */
export interface Difference {
  /** Within the folder. */
  readonly path: string;
  readonly kind: "manifest" | "missing" | "size" | "content" | "unlisted";
  /** For people; never what somebody said. */
  readonly detail: string;
}

export interface Verification {
  readonly name: string;
  /**
   * `whole`: every listed file has its size and its SHA-256, and nothing else is there. `newer`: of a
   * later schema, so it cannot be judged here. `seed`: as the original wrote it, without a seal.
   */
  readonly state: "whole" | "damaged" | "newer" | "seed";
  /** In the manifest's order; empty for `whole`, `newer` and `seed`. */
  readonly differences: readonly Difference[];
}

/** Reads every byte of a package, and compares it with its manifest. */
export async function verifyFolder(
  from: Directory,
  name: string,
  as?: "partial",
): Promise<Verification & { readonly manifest?: Manifest }> {
  const { manifest, problem } = await readFolder(from, name, as);
  if (manifest === undefined) {
    const kind = problem?.kind;
    if (kind === "newer" || kind === "seed") return { name, state: kind, differences: [] };
    const detail = problem?.detail ?? "feedback.json cannot be read";
    const differences = [{ path: manifestFile, kind: "manifest", detail } as const];
    return { name, state: "damaged", differences };
  }
  const { disk } = from;
  const folder = pathOf(from, name, as);
  const found: (Difference | undefined)[] = [];
  await concurrently(manifest.files, readsAtOnce, async (file, index) => {
    found[index] = await differenceOf(disk, folder, file);
  });
  const differences = found.filter((difference) => difference !== undefined);
  const listed = new Set([manifestFile, ...manifest.files.map(({ path }) => path)]);
  for (const path of await pathsIn(disk, folder, manifest)) {
    if (!listed.has(path))
      differences.push({ path, kind: "unlisted", detail: "not of this package" });
  }
  return { name, state: differences.length > 0 ? "damaged" : "whole", differences, manifest };
}

/** Compares names and sizes alone: what makes a package complete. */
export async function incompleteness(
  from: Directory,
  { name, files }: Manifest,
): Promise<readonly Difference[]> {
  const folder = pathOf(from, name);
  const found = [];
  for (const file of files) found.push(await differenceOf(from.disk, folder, file, "size"));
  return found.filter((difference) => difference !== undefined);
}

async function differenceOf(
  disk: Disk,
  folder: string,
  { path, bytes, sha256 }: FileEntry,
  upTo: "size" | "content" = "content",
): Promise<Difference | undefined> {
  const place = join(folder, path);
  try {
    const size = await disk.size(place);
    if (size !== bytes) return wrongSize(path, size, bytes);
    if (upTo === "size") return undefined;
    const found = await hashFile(disk, place, bytes);
    if (found.bytes !== bytes) return wrongSize(path, found.bytes, bytes);
    if (found.sha256 === sha256) return undefined;
    return { path, kind: "content", detail: "its SHA-256 is another" };
  } catch (error) {
    if (!isCode(error, "ENOENT")) throw error;
    return { path, kind: "missing", detail: "listed, and not there" };
  }
}

function wrongSize(path: string, found: number, listed: number): Difference {
  return { path, kind: "size", detail: `${found} bytes instead of ${listed}` };
}

/** The paths of all that is in a folder, as far as its manifest knows folders. */
export async function pathsIn(
  disk: Disk,
  folder: string,
  { files }: Manifest,
): Promise<readonly string[]> {
  const directories = foldersOf(files);
  const found: string[] = [];
  for (const { name, kind } of (await entriesOf(disk, folder)) ?? []) {
    if (kind === "directory" && directories.has(name)) {
      const inner = (await entriesOf(disk, join(folder, name))) ?? [];
      found.push(...inner.map((entry) => `${name}/${entry.name}`));
    } else found.push(name);
  }
  return found.sort();
}
