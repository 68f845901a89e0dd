// The index of a home on a simulated disk: `index.db` in memory, over the journal of that disk.
import type { Disk } from "../../src/core/storage/disk/disk.ts";
import { FileIndex } from "../../src/core/storage/files/index.ts";
import type { ReadJournal } from "../../src/core/storage/files/index-journal.ts";
import { FileNode } from "./file-node.ts";
import { NameTree } from "./name-tree.ts";

type IndexOptions = NonNullable<ConstructorParameters<typeof FileIndex>[1]>;

/**
 * Opens an index that knows nothing yet, or that which is in a file.
 *
 * @param disk a simulated one, or one that wraps it and names its `tree`.
 */
export function indexOn(disk: Disk, options: IndexOptions = {}, path?: string): FileIndex {
  const tree = "tree" in disk && disk.tree instanceof NameTree ? disk.tree : undefined;
  return new FileIndex(path, { ...options, read: tree && readOf(tree) });
}

/** The disk as the index reads it: no fault and no cut is put there. */
function readOf(tree: NameTree): ReadJournal {
  return (path, position, length) => {
    const node = tree.get(path, "open");
    if (!(node instanceof FileNode)) throw new Error(`${path} is no file`);
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, node.read(bytes, position));
  };
}
