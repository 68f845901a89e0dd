import { join } from "node:path";
import { isoTime } from "../../core/clock.ts";
import {
  isThere,
  makeDirectory,
  syncNames,
  unlinkIfThere,
  writeAll,
} from "../../core/storage/files/file-ports.ts";
import type { RepairReport } from "../../core/storage/storage.ts";
import type { PackagePorts } from "./ports.ts";
import { entriesOf, removeTree } from "./remove-tree.ts";

/** So that what the storage keeps there and what is ours are never taken for each other. */
const ours = "feedback-";
const maxCopies = 1_000;

/**
 * Moves a file or folder of a directory aside as it is, durably, with the report of why beside it.
 *
 * @returns the place as a report names it.
 */
export async function quarantine(
  ports: PackagePorts,
  directory: string,
  entry: string,
  report: Omit<RepairReport, "at" | "quarantined">,
): Promise<string> {
  const { disk, quarantinePath } = ports;
  await makeDirectory(disk, quarantinePath);
  const name = await freeName(ports, entry);
  await disk.rename(join(directory, entry), join(quarantinePath, name));
  // First where it now is, then where it no longer is: a power cut in between leaves two names.
  await syncNames(ports, quarantinePath);
  await syncNames(ports, directory);
  const quarantined = `quarantine/${name}`;
  const full = { ...report, quarantined };
  ports.report(full);
  await keepReport(ports, name, { at: isoTime(ports.clock.now()), ...full });
  return quarantined;
}

async function freeName({ disk, quarantinePath }: PackagePorts, entry: string): Promise<string> {
  for (let copy = 1; copy <= maxCopies; copy++) {
    const name = `${ours}${entry}${copy === 1 ? "" : `.${copy}`}`;
    if (!(await isThere(disk, join(quarantinePath, name)))) return name;
  }
  throw new Error("quarantine holds too many copies of one package");
}

/** Best effort: the report was made already. */
async function keepReport(
  { disk, quarantinePath }: PackagePorts,
  name: string,
  report: RepairReport,
): Promise<void> {
  try {
    const file = await disk.open(join(quarantinePath, `${name}.json`), "create");
    try {
      await writeAll(file, Buffer.from(`${JSON.stringify(report)}\n`), 0);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch {
    // What was set aside is what matters; the report was told all the same.
  }
}

/** What was set aside of packages: the name in quarantine, and the package it came from. */
export async function quarantined({
  disk,
  quarantinePath,
}: PackagePorts): Promise<readonly { readonly entry: string; readonly name: string }[]> {
  const found: { entry: string; name: string }[] = [];
  for (const { name: entry } of (await entriesOf(disk, quarantinePath)) ?? []) {
    if (!entry.startsWith(ours)) continue;
    found.push({ entry, name: entry.slice(ours.length).split(".", 1)[0] ?? "" });
  }
  return found;
}

/** Removes one thing from quarantine, for good. */
export async function removeQuarantined(ports: PackagePorts, entry: string): Promise<void> {
  const { disk, quarantinePath } = ports;
  const path = join(quarantinePath, entry);
  const isFolder = (await disk.list(quarantinePath)).some(
    ({ name, kind }) => name === entry && kind === "directory",
  );
  if (isFolder) await removeTree(disk, path);
  else await unlinkIfThere(disk, path);
  await syncNames(ports, quarantinePath);
}
