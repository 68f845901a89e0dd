import type { Clock } from "../../core/clock.ts";
import type { NewId } from "../../core/ids.ts";
import type { Logger } from "../../core/logger.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import type { NewReport } from "../../core/storage/files/file-ports.ts";
import type { OwedPackages } from "../package/target.ts";

/** What every move in a directory of packages needs. */
export interface PackagePorts {
  readonly disk: Disk;
  /** The directory itself. */
  readonly path: string;
  /** Where what cannot be read goes: a directory on the same file system. */
  readonly quarantinePath: string;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly newUuid: () => string;
  readonly logger: Logger;
  /** Directories in which a name was changed and whose sync failed: see `syncNames`. */
  readonly unsyncedNames: Set<string>;
  readonly owed: OwedPackages | undefined;
  /** Throws when this process is no longer the one writer. */
  guard(): void;
  report(report: NewReport): void;
}

/** Seconds since 1970 with 3 decimals: as all wall times of a package are. */
export function secondsNow(clock: Clock): number {
  return Math.round(clock.now()) / 1_000;
}
