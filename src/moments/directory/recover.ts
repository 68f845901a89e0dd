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
import { type As, codeOf, type PackagePorts, pathOf, placesIn } from "./names.ts";
import { isInFlight, readStatus, removeNote } from "./notes.ts";
import { finishRemoval, removeHere, removeTree } from "./remove.ts";

/** How many statuses are read at once: 10,000 took 2.1 s one by one, and 0.8 s so. */
const statusesAtOnce = 16;

type Found = ReadonlySet<As>;

/**
 * Makes the directory, if need be, finishes begun deletions, and removes every package that has not got its name yet,
 * with a report: no caller was told that it is kept. Running it again after any interruption comes to the same end.
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
  if (found.has("partial")) await removeHalf(ports, name);
  return !found.has("package") && found.has("status") && (await removeOrphan(ports, name));
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

async function removeHalf(ports: PackagePorts, name: string): Promise<void> {
  const bytes = (await removeTree(ports.disk, pathOf(ports, name, "partial"))) ?? 0;
  await syncNames(ports, ports.path);
  const key = `${basename(ports.path)}/${name}`;
  const at = isoTime(ports.clock.now());
  const reason = "a package was begun and not finished; it is removed";
  ports.report({ at, key, kind: "unfinished_package", bytes, after_seq: 0, reason });
}
