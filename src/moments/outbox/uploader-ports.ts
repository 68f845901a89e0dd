import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import type { Timers } from "../../core/timers.ts";
import type { PackageStatus } from "../package/package-format.ts";
import type { PackageSource } from "../s3/package-source.ts";
import type { S3Port } from "../s3/s3-port.ts";
import type { Jitter } from "./backoff.ts";
import type { Outbox } from "./outbox.ts";
import type { OwedError } from "./outcome.ts";

/** The packages on this machine, as far as uploads must know of them. */
export interface LocalPackages extends PackageSource {
  /** Whether there is a finished package of this name. Looks, does not verify. */
  has(name: string): Promise<boolean>;
  /**
   * Notes in the package's status that it was read back from a bucket. Durable when it resolves; it
   * may come again for the same copy.
   */
  uploaded(name: string, copy: UploadedCopy): Promise<void>;
  /** Removes the local copy, which the bucket has now; a note of that stays. One that is gone is fine. */
  release(name: string): Promise<void>;
  /** Notes that the bucket alone has a package. Durable when it resolves; it may come again. */
  remote(name: string, copy: UploadedCopy): Promise<void>;
  /** Takes that note away; none is fine. */
  dropRemote(name: string): Promise<void>;
  /** What is noted of a package, here or in the bucket alone. `undefined`: it cannot be read. */
  status(name: string): Promise<PackageStatus | undefined>;
  /** The name of the package with this id, here or noted to be in the bucket alone. */
  nameOf(id: string): string | undefined;
}

export interface UploadedCopy {
  readonly bucket: string;
  readonly prefix: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
}

export interface UploaderPorts {
  readonly outbox: Outbox;
  readonly packages: LocalPackages;
  /** Makes the port to a bucket of the configured service. Called at the first upload, not before. */
  connect(bucket: string): S3Port;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly jitter: Jitter;
  readonly logger: Logger;
}

export interface UploaderOptions {
  readonly bucket: string;
  readonly region: string;
  readonly endpoint: string | undefined;
  readonly createBucket: boolean;
  readonly encryption: "AES256" | "none";
  /** Whether a package stays on this machine once it is in the bucket: not in mode `s3`. */
  readonly keepLocal: boolean;
}

/** What happened to something that is owed. */
export type UploadEvent =
  /** The manifest in the bucket was read back and agrees. */
  | { readonly type: "uploaded"; readonly name: string; readonly prefix: string }
  | { readonly type: "retracted"; readonly name: string }
  | {
      readonly type: "deleted";
      readonly name: string;
      readonly keys: number;
      /** The bucket keeps older versions, which this program does not reach. */
      readonly versionsRemain: boolean;
    }
  /** It will not go up by itself: somebody must look. */
  | { readonly type: "parked"; readonly name: string; readonly error: OwedError }
  /** The target says no. Told once for each reason. */
  | { readonly type: "target_parked"; readonly error: OwedError }
  | { readonly type: "bucket_made"; readonly isClosedToPublic: boolean };

export interface OutboxStatistics {
  /** What is owed and will be tried, those of which only the name is known among them. */
  readonly pending: number;
  readonly parked: number;
  /** Of those that were read. */
  readonly bytes: number;
  /** ISO 8601; `null` when nothing is owed. */
  readonly oldest_at: string | null;
  readonly last_error: OwedError | null;
}
