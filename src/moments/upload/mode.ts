/** Where packages go: to the disk; to the disk and then the bucket; to the bucket alone. */
export const storageModes = ["local", "local+s3", "s3"] as const;
export type StorageMode = (typeof storageModes)[number];

/** Why the mode that holds is `local` although another was asked for. */
type StorageReason = "no_bucket" | "no_credentials" | "no_client" | "unknown_mode";

const defaultStorageMode: StorageMode = "local+s3";

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
  const { mode, bucket, lacks } = settings;
  const asked = mode === undefined || mode === "" ? defaultStorageMode : mode;
  if (!isStorageMode(asked)) return { mode: "local", reason: "unknown_mode", mayUpload: false };
  if (asked === "local") return { mode: "local", reason: null, mayUpload: false };
  if (bucket === undefined || bucket === "") {
    return { mode: "local", reason: "no_bucket", mayUpload: false };
  }
  if (lacks !== undefined) return { mode: "local", reason: lacks, mayUpload: true };
  return { mode: asked, reason: null, mayUpload: true };
}

function isStorageMode(text: unknown): text is StorageMode {
  return storageModes.some((mode) => mode === text);
}
