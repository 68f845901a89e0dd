// What the recorder hands on, and to whom.
import type { PackageMessage, PackageRecord } from "./record.ts";

/** 16 kHz mono, 16 bits: what every package holds. */
export const audioRateHz = 16_000;

/**
 * A moment that is complete: everything a package needs. The sink writes
 * `messages.json` from `messages`, `audio.wav` from `audio`, a file from each of `frames` and `attachments`, and
 * `feedback.json` by `writeManifest(sealRecord(record, …))`.
 */
export interface SealedMoment {
  readonly record: PackageRecord;
  readonly messages: readonly PackageMessage[];
  /** JPEG bytes, one for each item of `record.frames`, in its order. Shared: never write to them. */
  readonly frames: readonly Uint8Array[];
  /** Samples that are never written to. Null exactly when `record.audio` is. */
  readonly audio: Int16Array | null;
  /** The bytes of files that messages name, by their hash. */
  readonly attachments?: ReadonlyMap<string, Uint8Array>;
}

/** Why a package could not be saved. The moment is kept and tried again. */
export type SaveFailure = "disk_full" | "read_only" | "io";

/** What `save` rejects with. Anything else that it rejects with counts as `io`. */
export class SaveError extends Error {
  override readonly name = "SaveError";
  readonly reason: SaveFailure;

  constructor(reason: SaveFailure, options?: { readonly cause?: unknown }) {
    super(`The package could not be saved: ${reason}`, options);
    this.reason = reason;
  }
}

export interface Saved {
  /** Of the package. */
  readonly name: string;
  /** It is in the bucket already, read back, and nothing more is pending. @default false */
  readonly uploaded?: boolean;
}

/** Where packages go: a directory, a bucket, or a test. */
export interface PackageSink {
  /**
   * Writes one package; resolves when it is durable: it survives a kill and a power cut. Rejects
   * with a `SaveError` when nothing was kept; the same moment is then given again later. The
   * recorder calls it for one moment at a time, and again with the same `uuid` after a failure; a
   * package of that `uuid` that is there already is the answer. Reads no buffer after it settled.
   */
  save(moment: SealedMoment, signal?: AbortSignal): Promise<Saved>;
}
