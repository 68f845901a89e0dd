import type { Clock } from "../../core/clock.ts";
import type { NewId } from "../../core/ids.ts";
import type { Logger } from "../../core/logger.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import type { RepairReport } from "../../core/storage/storage.ts";
import type { UploadSettings } from "./ports.ts";
import type { FreeSpace } from "./space.ts";

export interface PackageDirectoryOptions {
  readonly disk: Disk;
  /** The directory; made when absent. */
  readonly path: string;
  /**
   * Where what cannot be read goes, on the same file system.
   * @default `quarantine` beside the directory
   */
  readonly quarantinePath?: string | undefined;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Makes the uuid for a moment whose name is taken. Default: a UUIDv7 of the clock's time. */
  readonly newUuid?: () => string;
  readonly logger?: Logger;
  /** Told of everything that was not as it was left. */
  readonly report?: (report: RepairReport) => void;
  /** Throws when this process is no longer the one writer. Called before each step that counts. */
  readonly guard?: () => void;
  /** How much can still be written; it may be wrong. Default: not known, and writing will show. */
  readonly freeSpace?: FreeSpace;
  /**
   * Space that packages never take, in bytes: it is the chats'.
   * @default 268_435_456
   */
  readonly minFreeBytes?: number;
  /** Where packages go that somebody agreed to upload. Default: they stay here. */
  readonly upload?: UploadSettings | undefined;
}

export const defaultMinFreeBytes = 256 * 1024 * 1024;
