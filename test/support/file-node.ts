/** A change of a file's data that the kernel knows of and the disk may not. */
export type DataChange =
  | { readonly kind: "write"; readonly position: number; readonly bytes: Uint8Array }
  | { readonly kind: "truncate"; readonly size: number };

const nothing = new Uint8Array(0);

/**
 * The data of one file, whatever its names: what the kernel shows, what is durable, and the changes
 * between the two in their order. Contents are shared between disks until somebody writes.
 */
export class FileNode {
  readonly kind = "file";
  #bytes: Uint8Array;
  #size: number;
  /** So many bytes at the start of `#bytes` are seen by others: copied before they change. */
  #shared: number;
  #durable: Uint8Array;
  #unsynced: DataChange[] = [];
  #lostPages = false;

  /** A file whose content is durable. The bytes are kept, not copied. */
  constructor(content: Uint8Array = nothing) {
    this.#bytes = content;
    this.#size = content.length;
    this.#shared = content.length;
    this.#durable = content;
  }

  get size(): number {
    return this.#size;
  }
  /** What a power cut cannot take. */
  get durable(): Uint8Array {
    return this.#durable;
  }
  /** Changes since the last sync, oldest first. */
  get unsynced(): readonly DataChange[] {
    return this.#unsynced;
  }

  /** The same file for another disk, with what is durable of it and what is not. */
  copy(): FileNode {
    const copy = new FileNode(this.content());
    copy.#durable = this.#durable;
    copy.#unsynced = [...this.#unsynced];
    copy.#lostPages = this.#lostPages;
    return copy;
  }

  /** What the kernel shows now. Never changes afterwards. */
  content(): Uint8Array {
    this.#shared = Math.max(this.#shared, this.#size);
    return this.#bytes.subarray(0, this.#size);
  }

  read(into: Uint8Array, position: number): number {
    const count = Math.max(0, Math.min(into.length, this.#size - position));
    if (count > 0) into.set(this.#bytes.subarray(position, position + count));
    return count;
  }

  write(bytes: Uint8Array, position: number): void {
    if (bytes.length === 0) return;
    const copy = new Uint8Array(bytes); // not slice: of a Buffer that is a view
    this.#extend(position, position + copy.length);
    this.#bytes.set(copy, position);
    this.#unsynced.push({ kind: "write", position, bytes: copy });
  }

  truncate(size: number): void {
    if (size > this.#size) this.#extend(size, size);
    this.#size = size;
    this.#unsynced.push({ kind: "truncate", size });
  }

  sync(): void {
    this.#durable = this.#lostPages
      ? this.#unsynced.reduce(changed, this.#durable)
      : this.content();
    this.#unsynced = [];
  }

  /**
   * What a failed `fsync` does: the kernel forgets that the pages are not on the disk. Reads show
   * them on, the next sync succeeds, and a power cut takes them.
   */
  loseUnsynced(): void {
    if (this.#unsynced.length === 0) return;
    this.#lostPages = true;
    this.#unsynced = [];
  }

  /** Preallocates up to `end`, with zeros between the old end and `from`. */
  #extend(from: number, end: number): void {
    const firstChanged = Math.min(from, this.#size);
    if (firstChanged < this.#shared || end > this.#bytes.length) {
      const roomy = new Uint8Array(Math.max(end, 2 * this.#size));
      roomy.set(this.#bytes.subarray(0, this.#size));
      this.#bytes = roomy;
      this.#shared = 0;
    } else if (from > this.#size) {
      this.#bytes.fill(0, this.#size, from); // bytes of before a truncate may lie there
    }
    this.#size = Math.max(this.#size, end);
  }
}

/** `content` with one change made. */
export function changed(content: Uint8Array, change: DataChange): Uint8Array {
  const end = change.kind === "write" ? change.position + change.bytes.length : change.size;
  const size = change.kind === "write" ? Math.max(content.length, end) : end;
  const result = new Uint8Array(size);
  result.set(content.subarray(0, size));
  if (change.kind === "write") result.set(change.bytes, change.position);
  return result;
}
