import { createHash } from "node:crypto";

export type S3Operation =
  | "PutObject"
  | "GetObject"
  | "DeleteObject"
  | "ListObjectsV2"
  | "CreateBucket"
  | "PutPublicAccessBlock";

/** One request, whatever became of it. */
export interface JournalEntry {
  readonly operation: S3Operation | "unknown";
  /** The key; of a list its prefix; of a bucket's operation empty. */
  readonly key: string;
  /** What the server made of it, although the answer may have been lost on its way. */
  readonly status: number;
  /** Whether an object was stored or removed by it. */
  readonly changed: boolean;
  /** The header `if-none-match`, `x-amz-checksum-sha256` and others that a test asks for. */
  readonly headers: Readonly<Record<string, string>>;
}

/** An instant at which a reader of the bucket would have seen a package that is not whole. */
export interface BrokenInstant {
  /** The index into `entries` of the change after which it was seen. */
  readonly index: number;
  readonly manifest: string;
  /** The listed file that was absent, or had other bytes. */
  readonly path: string;
}

/** An object of a bucket. */
export interface StoredObject {
  readonly body: Buffer;
  readonly etag: string;
  readonly contentType: string;
  /** `x-amz-meta-…` without that prefix. */
  readonly metadata: Readonly<Record<string, string>>;
  /** When it was stored, on the server's wall clock. */
  readonly modifiedMs: number;
}

const manifestName = "feedback.json";

/**
 * What a server was asked and what it did. After *every* change it looks at the bucket as a reader
 * would, and notes each instant at which a manifest was visible without one of its files.
 */
export class S3Journal {
  readonly #entries: JournalEntry[] = [];
  readonly #broken: BrokenInstant[] = [];
  /** Keys of manifests that are visible, with the files they list. */
  readonly #visible = new Map<string, readonly ListedFile[]>();

  get entries(): readonly JournalEntry[] {
    return this.#entries;
  }

  /** Every instant at which a manifest was visible before its files, or after one of them was gone. */
  get brokenInstants(): readonly BrokenInstant[] {
    return this.#broken;
  }

  count(operation: S3Operation, key?: string | RegExp): number {
    return this.#entries.filter(
      (entry) => entry.operation === operation && (key === undefined || matches(entry.key, key)),
    ).length;
  }

  /** Notes a request; the objects are those after it. */
  note(entry: JournalEntry, objects: ReadonlyMap<string, StoredObject>): void {
    this.#entries.push(entry);
    if (!entry.changed) return;
    if (entry.key.endsWith(`/${manifestName}`)) {
      const stored = objects.get(entry.key);
      if (stored === undefined) this.#visible.delete(entry.key);
      else this.#visible.set(entry.key, filesOf(stored.body));
    }
    const folder = folderOf(entry.key);
    for (const [manifest, files] of this.#visible) {
      // Only what lies under the same prefix can have changed.
      if (folder.startsWith(folderOf(manifest))) this.#look(manifest, files, objects);
    }
  }

  #look(
    manifest: string,
    files: readonly ListedFile[],
    objects: ReadonlyMap<string, StoredObject>,
  ): void {
    for (const { path, sha256 } of files) {
      const body = objects.get(`${folderOf(manifest)}${path}`)?.body;
      if (body !== undefined && hashOf(body) === sha256) continue;
      this.#broken.push({ index: this.#entries.length - 1, manifest, path });
    }
  }
}

interface ListedFile {
  readonly path: string;
  readonly sha256: string;
}

/** The files that a manifest lists. Bytes that are no manifest list one that nobody has. */
function filesOf(manifest: Buffer): readonly ListedFile[] {
  try {
    const { files } = JSON.parse(manifest.toString("utf8")) as { files: readonly ListedFile[] };
    return files.map(({ path, sha256 }) => ({ path, sha256 }));
  } catch {
    return [{ path: "(not a manifest)", sha256: "" }]; // noted as an instant that should not be
  }
}

function folderOf(key: string): string {
  return key.slice(0, key.lastIndexOf("/") + 1);
}

const hashes = new WeakMap<Buffer, string>();

/** Bodies never change once stored, and are looked at after each change: hashed once. */
function hashOf(body: Buffer): string {
  const known = hashes.get(body);
  if (known !== undefined) return known;
  const hash = createHash("sha256").update(body).digest("hex");
  hashes.set(body, hash);
  return hash;
}

export function matches(key: string, wanted: string | RegExp): boolean {
  return typeof wanted === "string" ? key === wanted : key.search(wanted) >= 0;
}
