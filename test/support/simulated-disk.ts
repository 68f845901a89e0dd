import type { Disk, DiskEntry, DiskFile, FilePlace } from "../../src/core/storage/disk/disk.ts";
import type { FileNode } from "./file-node.ts";
import { Copies, NameTree, type TreeNode } from "./name-tree.ts";
import { type Errno, systemError } from "./system-error.ts";

/**
 * The calls of a disk and of its open files, by the names they have in the port. The stores make no links; a test
 * does, as people do who copy a home.
 */
export type DiskCall = keyof Disk | keyof DiskFile | "link";

export interface DiskOperation {
  readonly call: DiskCall;
  /** As the caller gave it; for a call on an open file the path it was opened by. */
  readonly path: string;
  /** The second path of a rename or link. */
  readonly to?: string;
  readonly position?: number;
  /** How many bytes were to be read or written; for a truncate the new size. */
  readonly bytes?: number;
  /** Whether a power cut before it can leave another disk than one after it. */
  readonly changes: boolean;
}

export interface SimulatedDiskOptions {
  /**
   * The operation, counted from 1, before which the process dies: it never happens, and neither it
   * nor any later call ever settles. Default: none.
   */
  readonly stopAt?: number;
  /** Where this disk came from, for messages. */
  readonly label?: string;
  /**
   * Called before each operation. `half` gives the names and data as they were with the first half of
   * it done; only a write has one.
   */
  readonly watch?: (operation: DiskOperation, half: (() => NameTree) | undefined) => void;
}

/** The first half of a write, on this file or on a copy of it. */
interface HalfDone {
  readonly node: FileNode;
  readonly on: (node: FileNode) => void;
}

/**
 * A disk in memory that remembers what is durable. `crashImages` makes of it the disks that a power
 * cut could leave, `processDeathImage` the one that kill -9 leaves.
 *
 * It is strict where POSIX promises nothing: a sync of a file makes its data and size durable,
 * never its name; a name is durable once its directory was synced. Paths begin at `/`, which
 * exists. It has no permissions, no symbolic links and no times. Each call happens at once and
 * settles in a microtask; errors are those of Linux.
 */
export class SimulatedDisk implements Disk {
  readonly label: string;
  /** The names and data behind the disk, for those who make images of it. */
  readonly tree: NameTree;
  readonly #operations: DiskOperation[] = [];
  readonly #stopAt: number;
  readonly #watch: SimulatedDiskOptions["watch"];
  #stoppedBefore: DiskOperation | undefined;
  #onStop: () => void = () => {};

  constructor(options: SimulatedDiskOptions = {}, tree: NameTree = new NameTree()) {
    this.label = options.label ?? "a new disk";
    this.tree = tree;
    this.#stopAt = options.stopAt ?? Number.POSITIVE_INFINITY;
    this.#watch = options.watch;
  }

  /** Every call that was made and not stopped, failed ones too; operation 1 is at index 0. */
  get operations(): readonly DiskOperation[] {
    return this.#operations;
  }

  /** The operation before which the process died. */
  get stoppedBefore(): DiskOperation | undefined {
    return this.#stoppedBefore;
  }

  /**
   * Runs `work` until it ends or dies at `stopAt`.
   *
   * @returns whether it ended. Rejects as `work` does.
   */
  run(work: () => Promise<unknown>): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#onStop = () => resolve(false);
      work().then(() => resolve(true), reject);
    });
  }

  open(path: string, how: "read" | "write" | "create"): Promise<DiskFile> {
    return this.perform({ call: "open", path, changes: how === "create" }, () => {
      if (how === "create") return new SimulatedFile(this, this.tree.create(path), path, true);
      const node = this.tree.get(path, "open");
      if (node.kind === "directory") {
        throw systemError("EISDIR", { name: "open", path });
      }
      return new SimulatedFile(this, node, path, how === "write");
    });
  }

  mkdir(path: string): Promise<void> {
    return this.perform({ call: "mkdir", path, changes: true }, () => this.tree.mkdir(path));
  }

  list(path: string): Promise<readonly DiskEntry[]> {
    return this.perform({ call: "list", path, changes: false }, () => {
      const { names } = this.tree.directory(path, "opendir");
      return Array.from(names, ([name, { kind }]) => ({ name, kind }));
    });
  }

  size(path: string): Promise<number> {
    return this.perform({ call: "size", path, changes: false }, () =>
      sizeOf(this.tree.get(path, "lstat")),
    );
  }

  rename(from: string, to: string): Promise<void> {
    return this.perform({ call: "rename", path: from, to, changes: true }, () =>
      this.tree.rename(from, to),
    );
  }

  link(from: string, to: string): Promise<void> {
    return this.perform({ call: "link", path: from, to, changes: true }, () =>
      this.tree.link(from, to),
    );
  }

  unlink(path: string): Promise<void> {
    return this.perform({ call: "unlink", path, changes: true }, () => this.tree.unlink(path));
  }

  rmdir(path: string): Promise<void> {
    return this.perform({ call: "rmdir", path, changes: true }, () => this.tree.rmdir(path));
  }

  syncDirectory(path: string): Promise<void> {
    return this.perform({ call: "syncDirectory", path, changes: true }, () =>
      this.tree.sync(this.tree.directory(path, "open")),
    );
  }

  /** Records one operation and does it, unless the process is dead. For this disk and its files. */
  perform<T>(operation: DiskOperation, act: () => T, half?: HalfDone): Promise<T> {
    if (this.#stoppedBefore !== undefined) return new Promise(() => {});
    if (this.#operations.length + 1 === this.#stopAt) {
      this.#stoppedBefore = operation;
      this.#onStop();
      return new Promise(() => {});
    }
    this.#watch?.(operation, half && (() => this.#withHalf(half)));
    this.#operations.push(operation);
    try {
      return Promise.resolve(act());
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #withHalf({ node, on }: HalfDone): NameTree {
    const copies = new Copies();
    const tree = this.tree.copy(copies);
    on(copies.file(node));
    return tree;
  }
}

/** An open file of a simulated disk: goes on working when its name is gone. */
export class SimulatedFile implements DiskFile {
  readonly #disk: SimulatedDisk;
  readonly #node: FileNode;
  readonly #path: string;
  readonly #writable: boolean;
  #closed = false;

  constructor(disk: SimulatedDisk, node: FileNode, path: string, writable: boolean) {
    this.#disk = disk;
    this.#node = node;
    this.#path = path;
    this.#writable = writable;
  }

  read(into: Uint8Array, position: number): Promise<number> {
    const bytes = into.length;
    return this.#perform({ call: "read", position, bytes, changes: false }, () =>
      this.#file("read").read(into, position),
    );
  }

  write(bytes: Uint8Array, position: number): Promise<number> {
    return this.#perform(
      { call: "write", position, bytes: bytes.length, changes: true },
      () => {
        if (!this.#writable) this.#fail("EBADF", "write");
        this.#file("write").write(bytes, position);
        return bytes.length;
      },
      (node) => {
        if (!this.#writable || this.#closed) return;
        node.write(bytes.subarray(0, bytes.length >> 1), position);
      },
    );
  }

  size(): Promise<number> {
    return this.#perform({ call: "size", changes: false }, () => {
      if (this.#closed) this.#fail("EBADF", "fstat");
      return this.#node.size;
    });
  }

  /** No operation of the disk: it changes nothing, and nothing can come between it and its answer. */
  placeAt(path: string): FilePlace {
    return this.#disk.tree.placeOf(this.#node, path);
  }

  truncate(size: number): Promise<void> {
    return this.#perform({ call: "truncate", bytes: size, changes: true }, () => {
      const file = this.#file("ftruncate");
      if (!this.#writable) this.#fail("EINVAL", "ftruncate");
      file.truncate(size);
    });
  }

  extend(from: number, size: number): Promise<void> {
    const extendTo = (file: FileNode, to: number) => {
      if (to > file.size) file.truncate(to);
    };
    return this.#perform(
      { call: "extend", position: from, bytes: size - from, changes: true },
      () => {
        if (!this.#writable) this.#fail("EBADF", "write");
        extendTo(this.#file("write"), size);
      },
      (node) => {
        if (this.#writable && !this.#closed) extendTo(node, from + ((size - from) >> 1));
      },
    );
  }

  sync(): Promise<void> {
    return this.#perform({ call: "sync", changes: true }, () => {
      if (this.#closed) this.#fail("EBADF", "fdatasync");
      this.#node.sync();
    });
  }

  close(): Promise<void> {
    return this.#perform({ call: "close", changes: false }, () => {
      if (this.#closed) this.#fail("EBADF", "close");
      this.#closed = true;
    });
  }

  /** What a failed sync does to the data that was not synced: see `FileNode.loseUnsynced`. */
  loseUnsynced(): void {
    this.#node.loseUnsynced();
  }

  #perform<T>(
    operation: Omit<DiskOperation, "path">,
    act: () => T,
    actHalf?: (node: FileNode) => void,
  ): Promise<T> {
    const half = actHalf && { node: this.#node, on: actHalf };
    return this.#disk.perform({ ...operation, path: this.#path }, act, half);
  }

  #file(call: string): FileNode {
    if (this.#closed) this.#fail("EBADF", call);
    return this.#node;
  }

  #fail(errno: Errno, name: string): never {
    throw systemError(errno, { name });
  }
}

/** A directory counts one block, as on ext4. */
function sizeOf(node: TreeNode): number {
  return node.kind === "file" ? node.size : 4096;
}

/** An operation in words, for messages: `rename /home/a to /home/b`. */
export function describeOperation({ call, path, to, position, bytes }: DiskOperation): string {
  const amount = bytes === undefined ? "" : ` ${bytes} bytes`;
  const where = position === undefined ? "" : ` at ${position}`;
  return `${call}${amount}${where} ${path}${to === undefined ? "" : ` to ${to}`}`;
}
