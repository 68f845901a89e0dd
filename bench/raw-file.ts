// The floor: what anybody can do by hand with an open file.
import { closeSync, fdatasync, fdatasyncSync, openSync, write, writeSync } from "node:fs";

export class RawFile {
  readonly #fd: number;
  readonly #bytes: Uint8Array;
  #position = 0;

  /** @param size the bytes of one write. */
  constructor(path: string, size: number) {
    this.#fd = openSync(path, "wx");
    this.#bytes = Buffer.alloc(size, 97);
  }

  /** One write and one fdatasync, blocking. */
  writeDurably(): void {
    this.write();
    fdatasyncSync(this.#fd);
  }

  /** One write without a sync, blocking. */
  write(): void {
    writeSync(this.#fd, this.#bytes, 0, this.#bytes.length, this.#next());
  }

  /** One write and one fdatasync through the thread pool. */
  writeAside(): Promise<void> {
    return new Promise((resolve, reject) => {
      write(this.#fd, this.#bytes, 0, this.#bytes.length, this.#next(), (error) => {
        if (error) reject(error);
        else fdatasync(this.#fd, (failed) => (failed ? reject(failed) : resolve()));
      });
    });
  }

  close(): void {
    closeSync(this.#fd);
  }

  #next(): number {
    const position = this.#position;
    this.#position += this.#bytes.length;
    return position;
  }
}
