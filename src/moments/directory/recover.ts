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
import { removeHere, removeTree } from "./remove.ts";

/** How many statuses are read at once: 10,000 took 2.1 s one by one, and 0.8 s so. */
const statusesAtOnce = 16;

type Found = ReadonlySet<As>;

/**
 * Makes the directory, if need be, finishes begun deletions, and removes every package that has not got its name yet,
 * and says so in the log: no caller was told that it is kept. Running it again after any interruption comes to the same
 * end.
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
  if (found.has("partial")) await removeHalf(ports, name);
  if (found.has("package") || !found.has("status")) return false;
  const status = await readStatus(ports, name);
  // It stays until the bucket was asked whether all of it arrived.
  if (status && isInFlight(status)) return true;
  const isInBucket = status === undefined ? !found.has("partial") : status.uploaded.length > 0;
  if (!isInBucket) await removeNote(ports, name, "status");
  return false;
}

async function removeHalf(ports: PackagePorts, name: string): Promise<void> {
  const bytes = (await removeTree(ports.disk, pathOf(ports, name, "partial"))) ?? 0;
  await syncNames(ports, ports.path);
  const key = `${basename(ports.path)}/${name}`;
  const at = isoTime(ports.clock.now());
  const reason = "a package was not finished, or not wholly deleted; it is removed";
  const repair = { at, key, kind: "unfinished_package", bytes, after_seq: 0, reason };
  ports.logger.warn({ repair }, "a package was not as it was left");
}
