import { join } from "node:path";
import { ThroughlineError } from "../../core/errors.ts";
import { syncNames, unlinkIfThere } from "../../core/storage/files/file-ports.ts";
import type { PackageStatus } from "../package/package-format.ts";
import { endings } from "./names.ts";
import { type PackagePorts, secondsNow } from "./ports.ts";
import { assertThere } from "./read-sealed.ts";
import { isThere } from "./remove-tree.ts";
import { noStatus, readStatus, writeStatus } from "./status.ts";

/** @param timestamp now, in seconds since 1970. */
export type ChangeStatus = (status: PackageStatus, timestamp: number) => PackageStatus;

/**
 * Changes what is noted beside a package; a change that changes nothing writes nothing.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`; `THROUGHLINE_CORRUPT`: the status cannot be read.
 */
export async function markPackage(
  ports: PackagePorts,
  name: string,
  change: ChangeStatus,
): Promise<PackageStatus> {
  await assertThere(ports, name);
  return await changeStatus(ports, name, change);
}

async function changeStatus(
  ports: PackagePorts,
  name: string,
  change: ChangeStatus,
): Promise<PackageStatus> {
  const before = await readStatus(ports, name);
  if (before === undefined) {
    throw new ThroughlineError(`the status of ${name} cannot be read: repair it by hand`, {
      code: "THROUGHLINE_CORRUPT",
    });
  }
  const after = change(before, secondsNow(ports.clock));
  if (JSON.stringify(after) !== JSON.stringify(before)) await writeStatus(ports, name, after);
  return after;
}

/**
 * The same for a package that is here, or noted to be in a bucket alone.
 *
 * @throws ThroughlineError as `markPackage`.
 */
export async function markKnown(
  ports: PackagePorts,
  name: string,
  change: ChangeStatus,
): Promise<PackageStatus> {
  const isNoted = ((await readStatus(ports, name))?.uploaded.length ?? 0) > 0;
  return isNoted ? changeStatus(ports, name, change) : markPackage(ports, name, change);
}

/** With a copy in a bucket, once. */
export function withCopy(
  status: PackageStatus,
  { bucket, prefix, timestamp }: PackageStatus["uploaded"][number],
): PackageStatus {
  const isKnown = status.uploaded.some((one) => one.bucket === bucket && one.prefix === prefix);
  if (isKnown) return status;
  return { ...status, uploaded: [...status.uploaded, { bucket, prefix, timestamp }] };
}

/** Notes a copy of a package of which nothing need be here: its status is all that there is then. */
export async function noteRemote(
  ports: PackagePorts,
  name: string,
  copy: PackageStatus["uploaded"][number],
): Promise<void> {
  const isUnreadable = (await readStatus(ports, name)) === undefined;
  if (isUnreadable) await writeStatus(ports, name, noStatus);
  await changeStatus(ports, name, (status) => withCopy(status, copy));
}

/** Removes the status of a package that is not here. */
export async function dropRemote(ports: PackagePorts, name: string): Promise<void> {
  const { disk, path } = ports;
  if (await isThere(disk, join(path, name))) return;
  ports.guard();
  if (await unlinkIfThere(disk, join(path, name + endings.status))) await syncNames(ports, path);
}
