// The index of a home on a simulated disk: `index.db` in memory, over the journal of that disk.
import type { Disk } from "../../src/core/storage/disk/disk.ts";
import { FileIndex } from "../../src/core/storage/files/index.ts";
import type { JournalFiles } from "../../src/core/storage/files/index-journal.ts";
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
  return new FileIndex(path, { ...options, files: tree && filesOf(tree) });
}

/** The disk as the index reads it: no fault and no cut is put there. */
function filesOf(tree: NameTree): JournalFiles {
  const opened: FileNode[] = [];
  return {
    openSync(path) {
      const node = tree.get(path, "open");
      if (!(node instanceof FileNode)) throw new Error(`${path} is no file`);
      return opened.push(node) - 1;
    },
    readSync: (fd, into, offset, length, position) =>
      opened[fd]?.read(into.subarray(offset, offset + length), position) ?? 0,
    closeSync: () => undefined,
  };
}
