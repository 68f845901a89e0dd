// What a process that died left half done, finished or set aside before anything else happens here.
import { basename, join } from "node:path";
import {
  isTemporaryName,
  makeDirectory,
  replaceFile,
  syncNames,
  unlinkIfThere,
  writeAll,
} from "../../core/storage/files/file-ports.ts";
import { writeManifest } from "../package/package-format.ts";
import { intentFile, manifestFile, type PackageContent } from "./content.ts";
import { codeOf, diskCause, errnoOf } from "./disk-errors.ts";
import { readIntent } from "./intent.ts";
import { type Ending, endings, placeOf } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { quarantine, quarantined, removeQuarantined } from "./quarantine.ts";
import { readFolder, readWhole } from "./read-package.ts";
import { entriesOf, isThere, removeTree, sizeOf } from "./remove-tree.ts";
import { salvage, wholeByIntent } from "./salvage.ts";
import { readSpill } from "./spill.ts";
import { verifyFolder } from "./verify.ts";
import { publish, writePackage } from "./write-package.ts";

type Found = ReadonlySet<Ending | "package">;

/**
 * Finishes begun deletions; publishes what was written whole; expands spills; finishes what was
 * written in part from the parts that are whole; sets the rest aside. Each but the first with a
 * report. Running it again after any interruption comes to the same end.
 */
export async function recover(ports: PackagePorts): Promise<void> {
  const { disk, path } = ports;
  await makeDirectory(disk, path);
  const entries = await disk.list(path);
  for (const { name, kind } of entries) {
    if (kind === "file" && isTemporaryName(name)) await disk.unlink(join(path, name));
  }
  await syncNames(ports, path);
  const byName = new Map<string, Set<Ending | "package">>();
  for (const { name: entry } of entries) {
    const place = placeOf(entry);
    if (place === undefined) continue;
    const found = byName.get(place.name) ?? new Set();
    byName.set(place.name, found.add(place.as));
  }
  for (const [name, found] of [...byName].sort(([one], [other]) => (one < other ? -1 : 1))) {
    ports.guard();
    try {
      await recoverName(ports, name, found);
    } catch (error) {
      // One folder that the disk will not give up keeps no other from being recovered.
      if (errnoOf(diskCause(error)) === undefined) throw error;
      ports.logger.error({ package: name, error: codeOf(error) }, "not recovered: left as it is");
    }
  }
}

async function recoverName(ports: PackagePorts, name: string, found: Found): Promise<void> {
  if (found.has("deleting")) {
    await finishDeletion(ports, name, found.has("package"));
    if (!found.has("package")) return;
  }
  let isThereNow = found.has("package");
  for (const half of ["salvaging", "partial"] as const) {
    if (found.has(half) && !isThereNow) isThereNow = await publishWhole(ports, name, half);
  }
  if (found.has("spill")) isThereNow = await recoverSpill(ports, name, isThereNow);
  // Whatever it was made from is still there: it is made again.
  if (found.has("salvaging")) await removeHalf(ports, name, "salvaging");
  if (!found.has("partial")) return;
  if (isThereNow) await removeHalf(ports, name, "partial");
  else await recoverPartial(ports, name);
}

/**
 * A deletion was begun: it takes everything of this name. Where a package of the name is there again,
 * only the remains go.
 */
async function finishDeletion(ports: PackagePorts, name: string, isBack: boolean): Promise<void> {
  const { disk, path } = ports;
  const folder = join(path, name);
  if (!isBack) {
    await removeBeside(ports, name);
    for (const { entry } of (await quarantined(ports)).filter((one) => one.name === name)) {
      await removeQuarantined(ports, entry);
    }
  }
  await removeTree(disk, folder + endings.deleting);
  await syncNames(ports, path);
}

/**
 * Removes all that lies beside a package: its status, its spill, its halves. Durable when it
 * resolves, so that nothing of it can outlive the package itself.
 *
 * @returns which of them there were, and their bytes.
 */
export async function removeBeside(
  ports: PackagePorts,
  name: string,
): Promise<{ readonly found: Found; readonly bytes: number }> {
  const { disk, path } = ports;
  const folder = join(path, name);
  const found = new Set<Ending>();
  let bytes = 0;
  for (const as of ["partial", "salvaging"] as const) {
    const removed = await removeTree(disk, folder + endings[as]);
    if (removed === undefined) continue;
    found.add(as);
    bytes += removed;
  }
  for (const as of ["spill", "status"] as const) {
    const size = await sizeOf(disk, folder + endings[as]);
    if (!(await unlinkIfThere(disk, folder + endings[as]))) continue;
    found.add(as);
    bytes += size;
  }
  if (found.size > 0) await syncNames(ports, path);
  return { found, bytes };
}

/** Publishes a half that turns out to be whole. @returns whether it was. */
async function publishWhole(
  ports: PackagePorts,
  name: string,
  half: "salvaging" | "partial",
): Promise<boolean> {
  const { disk, path } = ports;
  const folder = join(path, name + endings[half]);
  const { manifest, differences } = await verifyFolder(disk, folder, name);
  if (manifest === undefined || differences.some(({ kind }) => kind !== "unlisted")) return false;
  for (const { name: entry, kind } of (await entriesOf(disk, folder)) ?? []) {
    if (kind === "file" && (entry === intentFile || isTemporaryName(entry))) {
      await unlinkIfThere(disk, join(folder, entry));
    }
  }
  // Its parts were synced before it was written, but was it? What is read may be the cache's alone.
  await replaceFile(ports, join(folder, manifestFile), (file) =>
    writeAll(file, writeManifest(manifest), 0),
  );
  if (manifest.num_frames > 0) await disk.syncDirectory(join(folder, "frames"));
  await ports.owed?.saving(manifest);
  await publish(ports, folder, name);
  await noteSaved(ports, name);
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
  report(ports, name, bytes, "a package was whole but for its name; it is kept");
  return true;
}

/** @returns whether there is a package of this name now. */
async function recoverSpill(
  ports: PackagePorts,
  name: string,
  isThereNow: boolean,
): Promise<boolean> {
  const { disk, path } = ports;
  const entry = name + endings.spill;
  const place = join(path, entry);
  const bytes = await sizeOf(disk, place);
  const spill = await readSpill(disk, place, name);
  if (spill === undefined) {
    await quarantine(ports, entry, {
      ...unfinished(ports, name, bytes),
      reason: "a moment that was spilled at exit has no right end; it is set aside",
    });
    return isThereNow;
  }
  if (isThereNow) {
    const { manifest } = await readFolder(disk, join(path, name), name);
    if (manifest?.uuid !== spill.record.uuid) {
      await quarantine(ports, entry, {
        ...unfinished(ports, name, bytes),
        reason: "a spilled moment has the name of another package; it is set aside",
      });
      return true;
    }
  } else {
    await make(ports, name, { ...spill, salvaged: false, spilled: true });
    report(ports, name, bytes, "a moment that was spilled at exit is a package now");
  }
  await disk.unlink(place);
  await syncNames(ports, path);
  return true;
}

async function recoverPartial(ports: PackagePorts, name: string): Promise<void> {
  const { disk, path } = ports;
  const entry = name + endings.partial;
  const folder = join(path, entry);
  const intentBytes = await readWhole(disk, join(folder, intentFile));
  const intent = intentBytes === undefined ? undefined : readIntent(intentBytes, name);
  const bytes = await bytesIn(ports, folder);
  if (intent !== undefined) {
    const content = await salvage(disk, folder, intent.record, wholeByIntent(intent));
    await make(ports, name, content);
    report(ports, name, bytes, describe(intent.record, content));
    await removeHalf(ports, name, "partial");
  } else if (bytes === 0) {
    await removeHalf(ports, name, "partial");
    report(ports, name, 0, "a package was begun and nothing of it was written; it is gone");
  } else {
    await quarantine(ports, entry, {
      ...unfinished(ports, name, bytes),
      reason: "a package was begun and its record is not readable; what was written is set aside",
    });
  }
}

/** Writes a package anew from what was found, beside it, and gives it its name. */
export async function make(
  ports: PackagePorts,
  name: string,
  content: PackageContent,
): Promise<void> {
  const folder = join(ports.path, name + endings.salvaging);
  if (await isThere(ports.disk, folder)) await removeTree(ports.disk, folder);
  await writePackage(ports, content, folder, { lanes: ports.lanes });
  await ports.owed?.saving(content.record);
  await publish(ports, folder, name);
  await noteSaved(ports, name);
}

/** Never fails: an entry that goes on saying that a package is coming is settled by the next start. */
export async function noteSaved({ owed, logger }: PackagePorts, name: string): Promise<void> {
  await owed?.saved(name).catch((error) => {
    logger.warn({ package: name, error: codeOf(error) }, "what is owed could not be noted");
  });
}

async function removeHalf(
  ports: PackagePorts,
  name: string,
  half: "salvaging" | "partial",
): Promise<void> {
  if ((await removeTree(ports.disk, join(ports.path, name + endings[half]))) === undefined) return;
  await syncNames(ports, ports.path);
}

async function bytesIn({ disk }: PackagePorts, folder: string): Promise<number> {
  let bytes = 0;
  for (const { name, kind } of (await entriesOf(disk, folder)) ?? []) {
    const child = join(folder, name);
    if (kind === "file") bytes += await sizeOf(disk, child);
    else if (kind === "directory" && name === "frames") {
      for (const frame of await disk.list(child))
        bytes += await sizeOf(disk, join(child, frame.name));
    }
  }
  return bytes;
}

function describe(meant: PackageContent["record"], { record }: PackageContent): string {
  const sound = `${record.audio_samples} of ${meant.audio_samples} samples`;
  const pictures = `${record.num_frames} of ${meant.num_frames} pictures`;
  const words = `${record.num_messages} of ${meant.num_messages} messages`;
  return `a package was finished with ${words}, ${pictures}, ${sound}`;
}

function unfinished(ports: PackagePorts, name: string, bytes: number) {
  const key = `${basename(ports.path)}/${name}`;
  return { key, kind: "unfinished_package" as const, bytes, after_seq: 0 };
}

function report(ports: PackagePorts, name: string, bytes: number, reason: string): void {
  ports.report({ ...unfinished(ports, name, bytes), reason });
}
