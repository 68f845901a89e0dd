import fs from "node:fs";
import { constants } from "node:os";
import { promisify } from "node:util";

/** What the file driver needs of a file system: 16 calls, so that a test can be the disk. */
export interface Disk {
  /**
   * Opens a file. `"read"`: it must exist. `"write"`: for reading and writing, it must exist.
   * `"create"`: for both, it must not exist; created with mode 0600. No call follows a link in the
   * last component. What is no file is refused at once: `ELOOP` (a link), `EISDIR`, `ENXIO` (a pipe,
   * a socket or a device).
   */
  open(path: string, how: "read" | "write" | "create"): Promise<DiskFile>;
  /** Creates one directory with mode 0700; its parent must exist. */
  mkdir(path: string): Promise<void>;
  /** Names in a directory, in no order. */
  list(path: string): Promise<readonly DiskEntry[]>;
  /** Size of a file in bytes. */
  size(path: string): Promise<number>;
  /** Replaces `to` if it exists. Durable once the directory is synced. */
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  rmdir(path: string): Promise<void>;
  /** Makes the names in a directory durable. */
  syncDirectory(path: string): Promise<void>;
}

export interface DiskEntry {
  readonly name: string;
  readonly kind: "file" | "directory" | "other";
}

/**
 * What a path leads to, compared with an open file. `"own"`: to this file, which has no other name.
 * `"linked"`: to this file, which has other names too. `"other"`: to another file. `"nothing"`: nowhere.
 */
export type FilePlace = "own" | "linked" | "other" | "nothing";

export interface DiskFile {
  /** Reads up to `into.length` bytes from `position`. @returns how many; 0 at the end. */
  read(into: Uint8Array, position: number): Promise<number>;
  /** Writes at `position`. @returns how many bytes the kernel took: it may be fewer. */
  write(bytes: Uint8Array, position: number): Promise<number>;
  size(): Promise<number>;
  /**
   * Compares this file with what `path` leads to now. At once: it takes some microseconds. A second name of it, or
   * a folder on the way that leads elsewhere, may be found a second late.
   */
  placeAt(path: string): FilePlace;
  truncate(size: number): Promise<void>;
  /**
   * Makes the file longer, from its end to `size`, a multiple of `blockBytes`, with NUL bytes for which
   * there is a place on the disk. It may fail with a part of it done.
   */
  extend(from: number, size: number): Promise<void>;
  /** Makes the data and the size durable: `fdatasync`. With `here` it holds up the event loop. */
  sync(here?: boolean): Promise<void>;
  close(): Promise<void>;
}

const { errno } = constants;
const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = fs.constants;
// Windows has neither: there they are undefined, and 0 asks for nothing. Opening a pipe must not wait
// for its other end.
const careful = (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0);
const flags = {
  read: O_RDONLY | careful,
  write: O_RDWR | careful,
  create: O_RDWR | O_CREAT | O_EXCL | careful,
} as const;

/**
 * Writes of at most this many bytes are made at once: the kernel copies a turn in some 5 µs, and
 * handing it to another thread and back takes 25. What waits for the disk is the sync. Larger ones go
 * to another thread, so that this one is not blocked.
 */
const smallWrite = 64 * 1024;

/** What file systems give out at a time, most of them. */
export const blockBytes = 4096;
const nul = new Uint8Array(1);

// Half the cost of `FileHandle`, which matters per turn; and `fs.promises` takes some milliseconds to load.
const read = promisify(fs.read);
const write = promisify(fs.write);
const truncate = promisify(fs.ftruncate);
// Not `fs.fdatasync` itself: the tests that count syncs replace it.
const syncData = promisify((descriptor: number, done: fs.NoParamCallback) =>
  fs.fdatasync(descriptor, done),
);
const syncAll = promisify(fs.fsync);
const openDirectory = promisify(fs.opendir);
const makeFolder = promisify(fs.mkdir);
const removeFolder = promisify(fs.rmdir);
const statusOf = promisify(fs.lstat);
const spaceOf = promisify(fs.statfs);

/** When a name in a directory last changed; two moments differ whenever their texts do. */
export function directoryChanged(path: string): string | undefined {
  const stats = fs.statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.dev} ${stats.ino} ${stats.mtimeNs}`;
}

/**
 * From Linux 6.13 on, a file that is looked at before each write takes half as long again to sync, since each write
 * has a time of its own then. So a file is looked at once in this time, and in between its name is read, which changes
 * when the file is moved, removed or replaced.
 */
const lookMs = 1_000;

/** Reads the path that the kernel knows of an open file. `undefined`: it does not say, as on all but Linux. */
function kernelName(descriptor: number): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    return fs.readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return undefined;
  }
}

class RealFile implements DiskFile {
  readonly #descriptor: number;
  readonly #device: number;
  readonly #inode: number;
  /** When it was looked at last, and found in its place. */
  #seen:
    | { readonly path: string; readonly name: string | undefined; readonly at: number }
    | undefined;
  constructor(descriptor: number, { dev, ino }: fs.Stats) {
    this.#descriptor = descriptor;
    this.#device = dev;
    this.#inode = ino;
  }
  placeAt(path: string): FilePlace {
    const name = kernelName(this.#descriptor);
    const now = performance.now();
    const seen = this.#seen;
    if (name !== undefined && name === seen?.name && path === seen.path && now - seen.at < lookMs)
      return "own";
    const there = fs.lstatSync(path, { throwIfNoEntry: false });
    if (there === undefined) return "nothing";
    if (there.ino !== this.#inode || there.dev !== this.#device) return "other";
    if (there.nlink !== 1) return "linked";
    this.#seen = { path, name, at: now };
    return "own";
  }
  async read(into: Uint8Array, position: number): Promise<number> {
    return (await read(this.#descriptor, into, 0, into.length, position)).bytesRead;
  }
  async write(bytes: Uint8Array, position: number): Promise<number> {
    if (bytes.length <= smallWrite) {
      return fs.writeSync(this.#descriptor, bytes, 0, bytes.length, position);
    }
    return (await write(this.#descriptor, bytes, 0, bytes.length, position)).bytesWritten;
  }
  async size(): Promise<number> {
    return fs.fstatSync(this.#descriptor).size;
  }
  truncate(size: number): Promise<void> {
    return truncate(this.#descriptor, size);
  }
  /** One byte gives a block its place, and the rest of it is NUL: this writes no more than that. */
  async extend(from: number, size: number): Promise<void> {
    const first = Math.ceil(from / blockBytes) * blockBytes;
    for (let end = first + blockBytes; end <= size; end += blockBytes) {
      fs.writeSync(this.#descriptor, nul, 0, 1, end - 1);
    }
  }
  async sync(here = false): Promise<void> {
    if (here) fs.fdatasyncSync(this.#descriptor);
    else await syncData(this.#descriptor);
  }
  /** At once: another thread would take ten times as long. */
  async close(): Promise<void> {
    fs.closeSync(this.#descriptor);
  }
}

/** @throws an error of the system: it is no file, or it cannot be looked at. */
function fileOf(descriptor: number, path: string): RealFile {
  const stats = fs.fstatSync(descriptor);
  if (stats.isFile()) return new RealFile(descriptor, stats);
  throw new NoFile(stats.isDirectory() ? "EISDIR" : "ENXIO", path);
}

const whyNot = { EISDIR: "illegal operation on a directory", ENXIO: "not a file" } as const;

/** As the system says it of what is no file. */
class NoFile extends Error {
  readonly errno: number;
  readonly code: keyof typeof whyNot;
  readonly syscall = "open";
  readonly path: string;

  constructor(code: NoFile["code"], path: string) {
    super(`${code}: ${whyNot[code]}, open '${path}'`);
    this.errno = -errno[code];
    this.code = code;
    this.path = path;
  }
}

/** The disk of this machine. */
export const realDisk: Disk = {
  /** At once, as small writes are: it takes some 20 µs, and a thread would take longer. */
  async open(path, how) {
    const descriptor = fs.openSync(path, flags[how], 0o600);
    try {
      return fileOf(descriptor, path);
    } catch (error) {
      fs.closeSync(descriptor);
      throw error;
    }
  },
  mkdir: (path) => makeFolder(path, 0o700),
  /** A part at a time: a million entries at once would hold up the event loop. */
  async list(path) {
    const directory = await openDirectory(path, { bufferSize: 512 });
    const entries: DiskEntry[] = [];
    for await (const entry of directory) {
      const kind = entry.isFile() ? "file" : entry.isDirectory() ? "directory" : "other";
      entries.push({ name: entry.name, kind });
    }
    return entries;
  },
  size: async (path) => (await statusOf(path)).size,
  rename: promisify(fs.rename),
  unlink: promisify(fs.unlink),
  rmdir: (path) => removeFolder(path),
  async syncDirectory(path) {
    if (process.platform === "win32") return; // a directory cannot be opened there
    const descriptor = fs.openSync(path, O_RDONLY | (O_DIRECTORY ?? 0));
    try {
      await syncAll(descriptor);
    } catch (error) {
      // Some file systems cannot sync a directory and say EINVAL: nothing more can be done there.
      if ((error as NodeJS.ErrnoException).code !== "EINVAL") throw error;
    } finally {
      fs.closeSync(descriptor);
    }
  },
};

/** Makes a file or a folder durable on this thread. */
export function syncNow(path: string, flags: "r" | "r+"): void {
  const descriptor = fs.openSync(path, flags);
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

export function syncDirectoryNow(path: string): void {
  if (process.platform !== "win32") syncNow(path, "r"); // a directory cannot be opened there
}

/** How many bytes this user may still write at a path. A quota, or the next moment, can make it less. */
export async function freeSpace(path: string): Promise<number> {
  const { bavail, bsize } = await spaceOf(path);
  return bavail * bsize;
}
