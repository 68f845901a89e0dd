import type { JsonObject } from "../json.ts";

/** Bounds of the document store, in bytes of UTF-8 JSON. */
export const documentLimits = { keyBytes: 1024, valueBytes: 8 * 1024 * 1024 } as const;

/** Names that a value must not use at its top level: on disk they seal the document. */
export const reservedDocumentNames = ["_key", "_revision", "_crc"] as const;

export interface StoredDocument {
  readonly value: JsonObject;
  /** Counts the writes of this document: 1 after the first. */
  readonly revision: number;
}

export interface WriteOptions {
  /** Write only if the document has this revision; 0 means that it does not exist. */
  readonly expectedRevision?: number;
}

/** JSON objects, one per key, each replaced whole: the shape under the companion's state. */
export interface DocumentStore {
  /**
   * The newest valid value, or `undefined` if there is none. When the current copy is damaged and an
   * older one is not, the older one is answered and the damage is reported.
   *
   * @param damageIn says what is wrong with a value, in words that quote none of it; `undefined`: nothing.
   *   A value with damage is set aside as a damaged copy is: out of the way of the next write, and on a
   *   disk or in a database kept until `delete` or `forgetCopies`.
   */
  read(
    key: string,
    damageIn?: (value: JsonObject) => string | undefined,
  ): Promise<StoredDocument | undefined>;

  /**
   * Replaces a document. A reader sees the old value or the new one, never a part of either, also
   * after a power cut. Calls for one key are stored in call order.
   *
   * @returns the revision of what was written.
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: the document is not at `expectedRevision`.
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`: see `documentLimits`.
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the old value stands; try again.
   */
  write(key: string, value: JsonObject, options?: WriteOptions): Promise<number>;

  /** Forgets a document and every copy of it. @returns whether there was one. */
  delete(key: string): Promise<boolean>;

  /**
   * Removes every copy of a document but its current value: the one before it, and what was set aside
   * because it could not be read. For when something that they hold is to be forgotten.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: copies may be left; call it again.
   */
  forgetCopies(key: string): Promise<void>;

  /** The keys of all documents, sorted by code unit. */
  keys(): Promise<readonly string[]>;
}
