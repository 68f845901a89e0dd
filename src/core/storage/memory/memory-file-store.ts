import {
  checkFileKey,
  checkHash,
  type FileStore,
  prepareFile,
  type StoredFile,
} from "../file-store.ts";

/** Files in maps. */
export class MemoryFileStore implements FileStore {
  /** By key, then by hash. */
  readonly #files = new Map<string, Map<string, Uint8Array>>();
  readonly #checkOpen: () => void;

  constructor(checkOpen: () => void) {
    this.#checkOpen = checkOpen;
  }

  async put(key: string, bytes: Uint8Array): Promise<string> {
    this.#checkOpen();
    const hash = prepareFile(key, bytes);
    const own = this.#files.get(key) ?? new Map<string, Uint8Array>();
    this.#files.set(key, own);
    if (!own.has(hash)) own.set(hash, Uint8Array.from(bytes));
    return hash;
  }

  async get(key: string, sha256: string): Promise<Uint8Array | undefined> {
    this.#check(key);
    checkHash(sha256);
    const found = this.#files.get(key)?.get(sha256);
    return found && Uint8Array.from(found);
  }

  async list(key: string): Promise<readonly StoredFile[]> {
    this.#check(key);
    const own = [...(this.#files.get(key) ?? [])];
    const listed = own.map(([sha256, { length: bytes }]) => ({ sha256, bytes }));
    return listed.sort((a, b) => (a.sha256 < b.sha256 ? -1 : 1));
  }

  async delete(key: string, sha256s?: readonly string[]): Promise<number> {
    this.#check(key);
    for (const hash of sha256s ?? []) checkHash(hash);
    const own = this.#files.get(key);
    if (own === undefined) return 0;
    const before = own.size;
    for (const hash of sha256s ?? own.keys()) own.delete(hash);
    if (own.size === 0) this.#files.delete(key);
    return before - own.size;
  }

  async *keys(): AsyncGenerator<string> {
    this.#checkOpen();
    yield* [...this.#files.keys()];
  }

  #check(key: string): void {
    this.#checkOpen();
    checkFileKey(key);
  }
}
