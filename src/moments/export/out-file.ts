import { createHash } from "node:crypto";
import type { DiskFile } from "../../core/storage/disk/disk.ts";
import { writeAll } from "../../core/storage/files/file-ports.ts";

/** A file that was written. */
export interface WrittenFile {
  /** From the export's folder, with `/`. */
  readonly path: string;
  readonly bytes: number;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
}

/** A file that is written from its start to its end, once. */
export class OutFile {
  readonly path: string;
  readonly #handle: DiskFile;
  readonly #hash = createHash("sha256");
  #bytes = 0;

  constructor(path: string, handle: DiskFile) {
    this.path = path;
    this.#handle = handle;
  }

  /** Wait for one call before the next. Rejects with the disk's error. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes);
    await writeAll(this.#handle, bytes, this.#bytes);
    this.#bytes += bytes.length;
  }

  /** Resolves once the bytes are durable. */
  async finish(): Promise<WrittenFile> {
    try {
      await this.#handle.sync();
    } finally {
      await this.#handle.close();
    }
    return { path: this.path, bytes: this.#bytes, sha256: this.#hash.digest("hex") };
  }

  /** After an error: only frees the handle. */
  async abandon(): Promise<void> {
    await this.#handle.close();
  }
}
