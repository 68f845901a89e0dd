/** Where packages go: to the disk; to the disk and then the bucket; to the bucket alone. */
export const storageModes = ["local", "local+s3", "s3"] as const;
export type StorageMode = (typeof storageModes)[number];

/** Why the mode that holds is `local` although another was asked for. */
type StorageReason = "no_bucket" | "no_credentials" | "no_client" | "unknown_mode";

export interface StorageSettings {
  /** As it was asked for; absent or empty: the default. */
  readonly mode?: string | undefined;
  readonly bucket?: string | undefined;
  /** What the last attempt to upload lacked: credentials, or the client library. */
  readonly lacks?: "no_credentials" | "no_client" | undefined;
}

export interface EffectiveMode {
  readonly mode: StorageMode;
  /** `null` when the mode is the one that was asked for. */
  readonly reason: StorageReason | null;
  /**
   * Whether each package is to go to the bucket. Also while credentials or client are missing: what
   * was recorded then goes up once they are there.
   */
  readonly mayUpload: boolean;
}

/** The mode that holds. Without a named bucket nothing ever leaves the machine. */
export function effectiveMode(settings: StorageSettings): EffectiveMode {
  const { bucket, lacks } = settings;
  const asked = settings.mode || "local+s3";
  const mode = storageModes.find((each) => each === asked);
  if (mode === undefined) return { mode: "local", reason: "unknown_mode", mayUpload: false };
  if (mode === "local") return { mode, reason: null, mayUpload: false };
  if (!bucket) return { mode: "local", reason: "no_bucket", mayUpload: false };
  if (lacks !== undefined) return { mode: "local", reason: lacks, mayUpload: true };
  return { mode, reason: null, mayUpload: true };
}
