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
