import type { Clock } from "../../core/clock.ts";
import type { NewId } from "../../core/ids.ts";
import type { Logger } from "../../core/logger.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import type { NewReport } from "../../core/storage/files/file-ports.ts";
import type { UploadTarget } from "../package/package-format.ts";
import type { FreeSpace } from "./space.ts";

/** Where packages go that somebody agreed to upload. */
export interface UploadSettings {
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
  pending(
    name: string,
    as: "status" | "tombstone",
    asked: { readonly since: number; readonly bytes?: number },
  ): void;
  /**
   * Ends what is being sent of a package, and begins nothing more of it.
   *
   * @returns what ends that; `isGone`: there is nothing of it any more.
   */
  hold(name: string): Promise<(isGone: boolean) => void>;
}

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
  readonly freeSpace: FreeSpace | undefined;
  readonly minFreeBytes: number;
  /** Directories in which a name was changed and whose sync failed: see `syncNames`. */
  readonly unsyncedNames: Set<string>;
  readonly upload: UploadSettings | undefined;
  sender: Sender | undefined;
  /** Throws when this process is no longer the one writer. */
  guard(): void;
  report(report: NewReport): void;
}

/** Seconds since 1970 with 3 decimals: as all wall times of a package are. */
export function secondsNow(clock: Clock): number {
  return Math.round(clock.now()) / 1_000;
}
