import { corrupt, invalid, type ThroughlineError } from "../errors.ts";
import { tooLarge } from "../json.ts";
import { sha256 } from "../sha256.ts";
import { checkKey } from "./key.ts";

/** Bounds of the file store, in bytes. */
export const fileLimits = { keyBytes: 1024, fileBytes: 20 * 1024 * 1024 } as const;

export interface StoredFile {
  /** Of its bytes: 64 lower-case hex digits. */
  readonly sha256: string;
  readonly bytes: number;
}

/** Files found by their content, in groups: those of one key, such as the attachments of one chat. */
export interface FileStore {
  /**
   * Stores a file of 0 to `fileLimits.fileBytes` bytes. Resolves once it survives a power cut, also at level
   * `"process"`. The same bytes again change nothing. They must not be changed before this has resolved.
   *
   * @returns the SHA-256 of the bytes, by which they are found.
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`: see `fileLimits`.
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`, `THROUGHLINE_OUTCOME_UNKNOWN`: repeat it.
   */
  put(key: string, bytes: Uint8Array): Promise<string>;

  /**
   * The bytes of one file; `undefined` if this key has none with that hash.
   *
   * @throws ThroughlineError `THROUGHLINE_CORRUPT`: the stored bytes no longer have this hash.
   */
  get(key: string, sha256: string): Promise<Uint8Array | undefined>;

  /** What a key has, sorted by hash. The bytes are not read: `get` finds damage. */
  list(key: string): Promise<readonly StoredFile[]>;

  /**
   * Removes these files of a key, or all that it has. Files of other keys are untouched, also with the same
   * bytes. What it does not have is passed over.
   *
   * @returns how many files this call removed. Their bytes are gone when it resolves.
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`, `THROUGHLINE_OUTCOME_UNKNOWN`: some may be left;
   *   repeat it.
   */
  delete(key: string, sha256s?: readonly string[]): Promise<number>;

  /** Every key that has files, in no order. */
  keys(): AsyncIterable<string>;
}

/** Checks what `put` is given. @returns the hash of the bytes. */
export function prepareFile(key: string, bytes: Uint8Array): string {
  checkFileKey(key);
  if (!(bytes instanceof Uint8Array)) throw invalid("a file must be a Uint8Array");
  if (bytes.length > fileLimits.fileBytes) {
    throw tooLarge(`a file has at most ${fileLimits.fileBytes / 1024 / 1024} MiB`);
  }
  return hashOf(bytes);
}

export function checkFileKey(key: unknown): asserts key is string {
  checkKey(key, "key", fileLimits.keyBytes);
}

/** Checks the hash that a caller names a file by. */
export function checkHash(hash: unknown): asserts hash is string {
  if (!isHash(hash)) throw invalid("sha256 must be 64 lower-case hex digits");
}

export function isHash(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
}

export function hashOf(bytes: Uint8Array): string {
  return sha256(bytes).toString("hex");
}

/** What `get` rejects with when a file is damaged. */
export function damagedFile(key: string, hash: string): ThroughlineError {
  return corrupt(
    `the file ${hash} of ${key} is damaged: its bytes no longer have this hash. Store it again or delete it`,
  );
}
