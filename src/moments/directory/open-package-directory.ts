import { resolve } from "node:path";
import { systemClock } from "../../core/clock.ts";
import { ThroughlineError } from "../../core/errors.ts";
import { silentLogger } from "../../core/logger.ts";
import { freeSpace, realDisk } from "../../core/storage/disk/disk.ts";
import { makeDirectory } from "../../core/storage/files/file-ports.ts";
import { takeLease } from "../../core/storage/files/lease.ts";
import { codeOf } from "./disk-errors.ts";
import { PackageDirectory } from "./package-directory.ts";
import type { PackageDirectoryOptions } from "./ports.ts";

/** An open directory, and what lets the next process in. */
interface OpenedPackageDirectory {
  readonly packages: PackageDirectory;
  /** Closes it, and then gives up its lease, if it has one of its own. */
  close(): Promise<void>;
}

/**
 * Opens a directory of packages on this machine's disk. One inside a home is under that home's lease:
 * give its `check` as `guard`. Without a `guard` the directory takes a lease of its own.
 *
 * @throws ThroughlineError `THROUGHLINE_LOCKED`: another process writes this directory.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: it cannot be made, or is not ours.
 */
export async function openPackageDirectory(
  options: PackageDirectoryOptions,
): Promise<OpenedPackageDirectory> {
  const path = resolve(options.path);
  const { clock = systemClock, logger = silentLogger } = options;
  try {
    await makeDirectory(realDisk, path);
  } catch (cause) {
    throw new ThroughlineError(`the directory ${path} cannot be made (${codeOf(cause)})`, {
      code: "THROUGHLINE_CONFIGURATION",
      cause,
    });
  }
  const lease = options.guard === undefined ? takeLease(path, { clock, logger }) : undefined;
  try {
    const packages = await PackageDirectory.open({
      freeSpace,
      ...options,
      path,
      // Beside it may be anybody's place: a directory with its own lease keeps all inside.
      quarantinePath: lease === undefined ? options.quarantinePath : resolve(path, "quarantine"),
      guard: options.guard ?? (() => lease?.check()),
    });
    return {
      packages,
      async close() {
        try {
          await packages.close();
        } finally {
          lease?.release();
        }
      },
    };
  } catch (error) {
    lease?.release();
    throw error;
  }
}
