import type { ListedPackage } from "./selection.ts";

/** Where packages come from. All calls only read. */
export interface ExportSource {
  /** Every package once, in any order. */
  list(): AsyncIterable<ListedPackage>;
  /** The bytes of `feedback.json`. */
  manifest(name: string): Promise<Buffer>;
  /**
   * @param path of a file in the package, as its manifest has it: `frames/000000.jpg`.
   * @param allocate gives the memory that the bytes may lie in, or throws what is to be thrown.
   */
  part(name: string, path: string, allocate: (bytes: number) => Buffer): Promise<Buffer>;
  /**
   * Whether every file is as the manifest has it, and no other is there. Those in `compared` are not
   * read again: the caller compared them.
   */
  isWhole(name: string, compared: ReadonlySet<string>): Promise<boolean>;
}

/** A new file of an export. */
export interface ExportFileHandle {
  /** Writes at `position`. @returns how many bytes were taken: it may be fewer. */
  write(bytes: Uint8Array, position: number): Promise<number>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** What an export needs of a file system: part of the file driver's `Disk`, which fits it. */
export interface ExportDisk {
  /** Opens a new file for writing; it must not exist. */
  open(path: string, how: "create"): Promise<ExportFileHandle>;
  mkdir(path: string): Promise<void>;
  list(
    path: string,
  ): Promise<readonly { readonly name: string; readonly kind: "file" | "directory" | "other" }[]>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  rmdir(path: string): Promise<void>;
  syncDirectory(path: string): Promise<void>;
}
