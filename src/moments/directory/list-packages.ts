import type { DiskEntry } from "../../core/storage/disk/disk.ts";
import { checkCount } from "../../core/storage/key.ts";
import { bytesIn } from "../package/content.ts";
import type { Manifest, PackageStatus } from "../package/record.ts";
import { checkName, entriesOf, isHere, isSeedName, pathOf, placeOf } from "./names.ts";
import { readStatus } from "./notes.ts";
import type { PackagePorts } from "./ports.ts";
import { readFolder } from "./read-package.ts";
import { pathsIn } from "./verify.ts";

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

export interface PackagePage {
  readonly packages: readonly PackageEntry[];
  /** For the next page's `before`; `null` on the last page. */
  readonly next: string | null;
}

/**
 * One page, newest first by the second of the trigger, which stands in the name; within one second in
 * no order that is promised. Opens only the packages on the page.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: `before` is not the name of a package, or `limit` is
 *   not a whole number from 1 to 500.
 */
export async function listPackages(
  ports: PackagePorts,
  { before, limit = 50 }: ListOptions,
): Promise<PackagePage> {
  checkCount(limit, "limit", 1, 500);
  if (before !== undefined && !isSeedName(before)) checkName(before);
  const entries = (await entriesOf(ports.disk, ports.path)) ?? [];
  const folders = new Set(entries.filter(isFolderOfPackage).map(({ name }) => name));
  const noted = entries.flatMap(({ name }) => {
    const place = placeOf(name);
    return place?.as === "status" ? [place.name] : [];
  });
  const names = [...new Set([...folders, ...noted])]
    .filter((name) => before === undefined || name < before)
    .sort()
    .reverse();
  const page = names.slice(0, limit);
  const packages: PackageEntry[] = [];
  for (const name of page) {
    const entry = folders.has(name) ? await entryOf(ports, name) : await entryThere(ports, name);
    if (entry !== undefined) packages.push(entry);
  }
  return {
    packages,
    next: names.length > limit ? (page.at(-1) ?? null) : null,
  };
}

function isFolderOfPackage({ name, kind }: DiskEntry): boolean {
  return kind === "directory" && (placeOf(name)?.as === "package" || isSeedName(name));
}

async function entryOf(ports: PackagePorts, name: string): Promise<PackageEntry | undefined> {
  const { manifest, problem } = await readFolder(ports, name);
  const status = await readStatus(ports, name);
  if (manifest === undefined) {
    if (!(await isHere(ports, name))) return undefined; // deleted since it was listed
    const kind = problem?.kind;
    const state = kind === "newer" || kind === "seed" ? kind : "damaged";
    return { name, state, detail: problem?.detail ?? null, manifest, status, bytes: 0 };
  }
  const bytes = bytesIn(manifest.files);
  const there = new Set(await pathsIn(ports.disk, pathOf(ports, name), manifest));
  const missing = manifest.files.filter(({ path }) => !there.has(path)).length;
  if (missing === 0) return { name, state: "sealed", detail: null, manifest, status, bytes };
  const detail = `${missing} of its files are not there`;
  return { name, state: "damaged", detail, manifest, status, bytes };
}

/** A package of which only a bucket has the files. `undefined`: it is still on its way. */
async function entryThere(ports: PackagePorts, name: string): Promise<PackageEntry | undefined> {
  const status = await readStatus(ports, name);
  if (status?.uploaded.length === 0) return undefined;
  return { name, state: "bucket", detail: null, manifest: undefined, status, bytes: 0 };
}
