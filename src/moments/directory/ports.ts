import type { Clock } from "../../core/clock.ts";
import type { NewId } from "../../core/ids.ts";
import type { Logger } from "../../core/logger.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import type { RepairReport } from "../../core/storage/storage.ts";
import type { UploadTarget } from "../package/record.ts";

/** Where packages go that somebody agreed to upload. */
interface UploadSettings {
  readonly target: UploadTarget;
  /** Whether a package stays on this machine once it is in the bucket: not in mode `s3`. */
  readonly keepLocal: boolean;
}

/** Who sends packages: it hears what there is to be done, and lets go of what is deleted. */
export interface Sender {
  /**
   * Something of this name is to be sent: a package, a retraction or a deletion. `since`: seconds since
   * 1970; `bytes`: of the package's files.
   */
  pending(name: string, asked: { readonly since: number; readonly bytes?: number }): void;
  /** Ends what is being sent of a package that has a tombstone, and forgets what was to be sent of it. */
  stop(name: string): Promise<void>;
}

export interface PackageDirectoryOptions {
  /** @default the machine's */
  readonly disk?: Disk;
  /** The directory; made when absent. */
  readonly path: string;
  readonly clock?: Clock | undefined;
  readonly newId?: NewId | undefined;
  readonly logger?: Logger;
  /** Told of everything that was not as it was left. @default the logger */
  readonly report?: (report: RepairReport) => void;
  /** Throws when this process is no longer the one writer. Called before each step that counts. */
  readonly guard?: () => void;
  /** How many bytes can still be written there; it may be wrong. Default: not known, and writing will show. */
  readonly freeSpace?: (path: string) => Promise<number>;
  /**
   * Space that packages never take, in bytes: it is the chats'.
   * @default 268_435_456
   */
  readonly minFreeBytes?: number;
  /** Where packages go that somebody agreed to upload. Default: they stay here. */
  readonly upload?: UploadSettings | undefined;
}

export const defaultMinFreeBytes = 256 * 1024 * 1024;

/** What every move in a directory of packages needs. */
export interface PackagePorts
  extends Required<Omit<PackageDirectoryOptions, "freeSpace" | "upload">>,
    Pick<PackageDirectoryOptions, "freeSpace" | "upload"> {
  /** Directories in which a name was changed and whose sync failed: see `syncNames`. */
  readonly unsyncedNames: Set<string>;
  sender: Sender | undefined;
}

/** Seconds since 1970 with 3 decimals: as all wall times of a package are. */
export function secondsNow(clock: Clock): number {
  return Math.round(clock.now()) / 1_000;
}
