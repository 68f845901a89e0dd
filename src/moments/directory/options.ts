import type { Clock } from "../../core/clock.ts";
import type { NewId } from "../../core/ids.ts";
import type { Logger } from "../../core/logger.ts";
import type { BlockingDisk, Disk } from "../../core/storage/disk/disk.ts";
import type { RepairReport } from "../../core/storage/storage.ts";
import type { SealedMoment } from "../package/package-format.ts";
import type { OwedPackages } from "../package/target.ts";
import type { FreeSpace } from "./space.ts";

export interface PackageDirectoryOptions {
  readonly disk: Disk;
  /** For `spillSync`. Default: none, and `spillSync` throws. */
  readonly blockingDisk?: BlockingDisk;
  /** The directory; made when absent. */
  readonly path: string;
  /**
   * Where what cannot be read goes, on the same file system.
   * @default `quarantine` beside the directory
   */
  readonly quarantinePath?: string;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Makes the uuid for a moment whose name is taken. Default: a UUIDv7 of the clock's time. */
  readonly newUuid?: () => string;
  readonly logger?: Logger;
  /** Told of everything that was not as it was left. */
  readonly report?: (report: RepairReport) => void;
  /** Throws when this process is no longer the one writer. Called before each step that counts. */
  readonly guard?: () => void;
  /** How much can still be written; it may be wrong. Default: nobody knows, and writing will show. */
  readonly freeSpace?: FreeSpace;
  /**
   * Space that packages never take, in bytes: it is the chats'.
   * @default 268_435_456
   */
  readonly minFreeBytes?: number;
  /**
   * What makes room on a full disk: nothing, or packages that were uploaded, oldest first, neither
   * preserved nor owed.
   * @default "keep"
   */
  readonly onFull?: "keep" | "evict-uploaded";
  /** What must know of each package before it is there: the outbox. */
  readonly owed?: OwedPackages;
  /**
   * Takes out of a moment what must not be kept, before anything of it is written. If it throws,
   * nothing is. A promise is waited for, but not by `spillSync`, which then refuses.
   */
  readonly redact?: (moment: SealedMoment) => SealedMoment | Promise<SealedMoment>;
  /**
   * Files written at once, 1 to 64.
   * @default 4
   */
  readonly lanes?: number;
}

export const defaults = {
  minFreeBytes: 256 * 1024 * 1024,
  onFull: "keep",
  lanes: 4,
} as const satisfies Partial<PackageDirectoryOptions>;

/** Fills in the defaults. @throws TypeError for a value out of its bounds. */
export function resolveOptions(options: PackageDirectoryOptions) {
  const resolved = { ...defaults, ...options };
  const { minFreeBytes, lanes, onFull } = resolved;
  if (!(minFreeBytes >= 0)) throw new TypeError("minFreeBytes must be 0 or more");
  if (!Number.isInteger(lanes) || lanes < 1 || lanes > 64) {
    throw new TypeError("lanes must be a whole number from 1 to 64");
  }
  if (onFull !== "keep" && onFull !== "evict-uploaded") {
    throw new TypeError("onFull must be keep or evict-uploaded");
  }
  return resolved;
}
