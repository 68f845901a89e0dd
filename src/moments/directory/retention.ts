import { invalid } from "../../core/errors.ts";
import { bytesIn } from "../package/content.ts";
import type { PackageStatus } from "../package/record.ts";
import { isHere, type PackagePorts, placesIn, timeOf } from "./names.ts";
import { readStatus } from "./notes.ts";
import { readFolder, readPackage } from "./read-package.ts";
import { removeHere } from "./remove.ts";
import { ownersOf } from "./whose.ts";

export interface RetentionLimits {
  /**
   * Packages whose trigger is longer ago are removed, in milliseconds, unless the clock is more than
   * 365 days past the newest of them. Default: none is.
   */
  readonly maxAgeMs?: number | undefined;
  /** Of all packages together; the oldest are removed until the rest fits. Default: no limit. */
  readonly maxBytes?: number | undefined;
}

interface Purged {
  readonly name: string;
  readonly bytes: number;
  readonly because: "max_age" | "max_bytes";
}

export interface PurgeReport {
  readonly purged: readonly Purged[];
  /** Of the packages that stay. */
  readonly bytes: number;
  /** Would have been removed, and were not: somebody preserves them, or their upload is pending. */
  readonly kept: readonly { readonly name: string; readonly because: "preserved" | "pending" }[];
  /** Nothing was removed, because the clock is behind the newest package. */
  readonly clockIsBehind: boolean;
  /** Nothing was removed for its age, because the clock is more than 365 days past the newest package. */
  readonly clockIsAhead: boolean;
}

/**
 * With a clock that is further past the newest package than this, in milliseconds, nothing is old for
 * certain: it is what a year typed wrong is off at the least, and less than what a lost week count or a
 * battery makes. A companion that was off that long looks the same, and loses nothing by it: its ages
 * count again from its next package on, while what is removed is gone.
 */
const farAheadMs = 365 * 24 * 3_600_000;

/**
 * Removes packages past the limits, oldest first, one by one. Never one that is preserved or whose upload is pending,
 * nor one that cannot be read: then it is not known. Nothing at all while the clock is behind the newest
 * package, and nothing for its age while it is far ahead: it cannot tell what is old.
 */
export async function purge(
  ports: PackagePorts,
  { maxAgeMs, maxBytes }: RetentionLimits,
): Promise<PurgeReport> {
  const known: { readonly name: string; readonly bytes: number }[] = [];
  const now = ports.clock.now();
  let pastNewest = 0;
  for (const [name, as] of await placesIn(ports)) {
    if (!as.has("package")) continue;
    pastNewest = now - timeOf(name);
    const { manifest } = await readFolder(ports, name);
    if (manifest !== undefined) known.push({ name, bytes: bytesIn(manifest.files) });
  }
  let bytes = bytesIn(known);
  if (pastNewest < 0) {
    return { purged: [], kept: [], bytes, clockIsBehind: true, clockIsAhead: false };
  }
  const clockIsAhead = maxAgeMs !== undefined && pastNewest > farAheadMs;
  const purged: Purged[] = [];
  const kept: PurgeReport["kept"][number][] = [];
  for (const { name, bytes: own } of known) {
    const isOld = maxAgeMs !== undefined && !clockIsAhead && now - timeOf(name) > maxAgeMs;
    const isOver = maxBytes !== undefined && bytes > maxBytes;
    if (!isOld && !isOver) continue;
    const hold = await ports.changes.run(name, async () => {
      const status = await readStatus(ports, name);
      const found = holdOf(status);
      if (status !== undefined && found === undefined) await remove(ports, name, status);
      return found;
    });
    if (hold !== undefined) {
      if (hold !== "unknown") kept.push({ name, because: hold });
      continue;
    }
    bytes -= own;
    const because = isOld ? "max_age" : "max_bytes";
    ports.logger.info({ package: name, bytes: own, because }, "a package was removed, as was set");
    purged.push({ name, bytes: own, because });
  }
  return { purged, kept, bytes, clockIsBehind: false, clockIsAhead };
}

/** See `PackageDirectory.release`. */
export async function releasePackage(ports: PackagePorts, name: string): Promise<void> {
  if (!(await isHere(ports, name))) return;
  const status = await readStatus(ports, name);
  if (status === undefined || status.uploaded.length === 0) {
    throw invalid(`${name} is in no bucket, as far as its status tells: it stays here`);
  }
  if (status.preserved === null) await remove(ports, name, status);
}

function holdOf(status: PackageStatus | undefined) {
  if (status === undefined) return "unknown";
  if (status.preserved !== null) return "preserved";
  const isPending = status.upload !== undefined && status.upload.state !== "done";
  return isPending ? "pending" : undefined;
}

/** Removes the local copy. Its status stays as long as a bucket has the package. */
async function remove(ports: PackagePorts, name: string, status: PackageStatus): Promise<void> {
  let kept: PackageStatus | undefined;
  if (status.uploaded.length > 0) {
    const { manifest, messages } = await readPackage(ports, name);
    kept = { ...status, of: ownersOf(manifest, messages) };
  }
  await removeHere(ports, name, kept);
}
