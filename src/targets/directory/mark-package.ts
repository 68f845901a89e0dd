import { ThroughlineError } from "../../errors.ts";
import type { PackageStatus } from "../package/package-format.ts";
import { type PackagePorts, secondsNow } from "./ports.ts";
import { assertThere } from "./read-sealed.ts";
import { readStatus, writeStatus } from "./status.ts";

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
