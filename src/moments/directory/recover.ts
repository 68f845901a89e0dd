// What a process that died left half done, finished or removed before anything else happens here.
import { basename, join } from "node:path";
import { isoTime } from "../../core/clock.ts";
import { concurrently } from "../../core/concurrently.ts";
import {
  isDiskError,
  isTemporaryName,
  makeDirectory,
  syncNames,
} from "../../core/storage/files/file-ports.ts";
import { bytesIn, manifestFile } from "../package/content.ts";
import { type As, codeOf, isHere, type PackagePorts, pathOf, placesIn } from "./names.ts";
import { isInFlight, noteComing, readStatus, removeNote } from "./notes.ts";
import { verifyFolder } from "./read-package.ts";
import { finishRemoval, removeHere, removeTree } from "./remove.ts";
import { publish, syncFolder } from "./save-package.ts";

/** How many statuses are read at once: 10,000 took 2.1 s one by one, and 0.8 s so. */
const statusesAtOnce = 16;

type Found = ReadonlySet<As>;

/**
 * Makes the directory, if need be, finishes begun deletions, gives a package that was written whole its name, and removes every half,
 * with a report. Running it again after any interruption comes to the same end.
 *
 * @returns the names of packages that were on their way to a bucket from memory.
 */
export async function recover(ports: PackagePorts): Promise<ReadonlySet<string>> {
  const { disk, path } = ports;
  await makeDirectory(disk, path);
  for (const { name, kind } of await disk.list(path)) {
    if (kind === "file" && isTemporaryName(name)) await disk.unlink(join(path, name));
  }
  await syncNames(ports, path);
  const inFlight = new Set<string>();
  const recoverOne = async ([name, found]: readonly [string, Found]) => {
    ports.guard();
    try {
      if (await recoverName(ports, name, found)) inFlight.add(name);
    } catch (error) {
      // One folder that the disk will not give up keeps no other from being recovered.
      if (!isDiskError(error)) throw error;
      ports.logger.error({ package: name, error: codeOf(error) }, "not recovered: left as it is");
    }
  };
  const names = [...(await placesIn(ports))];
  const isAlone = ([, found]: readonly [string, Found]) => found.size === 1 && found.has("status");
  for (const each of names) if (!isAlone(each)) await recoverOne(each);
  // In mode `s3` there is one for each package that was ever uploaded.
  await concurrently(names.filter(isAlone), statusesAtOnce, recoverOne);
  return inFlight;
}

/** @returns whether it is on its way to a bucket. */
async function recoverName(ports: PackagePorts, name: string, found: Found): Promise<boolean> {
  if (found.has("tombstone")) {
    // It was forgotten, and the process died before it was gone here.
    if (found.size > 1) await removeHere(ports, name);
    return false;
  }
  if (found.has("deleting")) {
    await finishRemoval(ports, name);
    if (!found.has("package")) return false;
  }
  let isHere = found.has("package");
  if (found.has("partial")) {
    if (!isHere && (await publishWhole(ports, name))) isHere = true;
    else await removeHalf(ports, name);
  }
  return !isHere && found.has("status") && (await removeOrphan(ports, name));
}

/**
 * Removes the status of a package that was never finished. One that was on its way to a bucket from memory
 * stays until the bucket was asked whether all of it arrived.
 *
 * @returns whether it stays.
 */
async function removeOrphan(ports: PackagePorts, name: string): Promise<boolean> {
  const status = await readStatus(ports, name);
  if (status === undefined || status.uploaded.length > 0) return false;
  if (isInFlight(status)) return true;
  await removeNote(ports, name, "status");
  return false;
}

/** Publishes a half that turns out to be whole. @returns whether it was. */
async function publishWhole(ports: PackagePorts, name: string): Promise<boolean> {
  const { disk } = ports;
  const folder = pathOf(ports, name, "partial");
  const { manifest, differences } = await verifyFolder(ports, name, "partial");
  if (manifest === undefined || differences.length > 0) return false;
  // What was read may be in the cache alone: the process that died may not have synced it.
  for (const file of [...manifest.files.map(({ path }) => path), manifestFile]) {
    const open = await disk.open(join(folder, file), "write");
    try {
      await open.sync();
    } finally {
      await open.close();
    }
  }
  await syncFolder(disk, folder, manifest.files);
  const bytes = bytesIn(manifest.files);
  if (!(await isHere(ports, name, "status"))) await noteComing(ports, manifest, bytes);
  await publish(ports, name);
  report(ports, name, bytes, "a package was whole but for its name; it is kept");
  return true;
}

/** No caller was told that it is kept, and without its manifest nothing reads it. */
async function removeHalf(ports: PackagePorts, name: string): Promise<void> {
  const bytes = (await removeTree(ports.disk, pathOf(ports, name, "partial"))) ?? 0;
  await syncNames(ports, ports.path);
  report(ports, name, bytes, "a package was begun and not finished; it is removed");
}

function report(ports: PackagePorts, name: string, bytes: number, reason: string): void {
  const key = `${basename(ports.path)}/${name}`;
  const at = isoTime(ports.clock.now());
  ports.report({ at, key, kind: "unfinished_package", bytes, after_seq: 0, reason });
}
