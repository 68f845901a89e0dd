// A disk that calls back before each call, so that a test can do something at any point of a job.
import type { Disk, DiskFile } from "../../src/core/storage/disk/disk.ts";

/** What only some calls have. */
interface More {
  /** Does half of a write. */
  readonly half: () => Promise<unknown>;
  /** How a file is opened, or the place that is written to. */
  readonly of?: number | "read" | "write" | "create" | undefined;
}
type Call = keyof Disk | keyof DiskFile;

/** @param before is waited for. Where it never settles, the job stands still as if it was killed. */
export function hookedDisk(
  disk: Disk,
  before: (call: Call, path: string, more: More) => Promise<void> | void,
): Disk {
  const told = async (call: Call, path: string, more: Partial<More> = {}) =>
    before(call, path, { half: async () => undefined, ...more });
  const hooked = (file: DiskFile, path: string): DiskFile => ({
    read: async (into, position) => {
      await told("read", path);
      return file.read(into, position);
    },
    write: async (bytes, position) => {
      const half = () => file.write(bytes.subarray(0, bytes.length >> 1), position);
      await told("write", path, { half, of: position });
      return file.write(bytes, position);
    },
    size: () => file.size(),
    placeAt: (at) => file.placeAt(at),
    truncate: async (size) => {
      await told("truncate", path);
      return file.truncate(size);
    },
    extend: (from, size) => file.extend(from, size),
    sync: async (here) => {
      await told("sync", path);
      return file.sync(here);
    },
    close: () => file.close(),
  });
  return {
    ...("tree" in disk && { tree: disk.tree }),
    open: async (path, how) => {
      await told("open", path, { of: how });
      return hooked(await disk.open(path, how), path);
    },
    mkdir: async (path) => {
      await told("mkdir", path);
      return disk.mkdir(path);
    },
    list: async (path) => {
      await told("list", path);
      return disk.list(path);
    },
    size: (path) => disk.size(path),
    rename: async (from, to) => {
      await told("rename", from);
      return disk.rename(from, to);
    },
    unlink: async (path) => {
      await told("unlink", path);
      return disk.unlink(path);
    },
    rmdir: async (path) => {
      await told("rmdir", path);
      return disk.rmdir(path);
    },
    syncDirectory: async (path) => {
      await told("syncDirectory", path);
      return disk.syncDirectory(path);
    },
  };
}

/** Syncs nothing, for tests that only kill: what was written stays. */
export function unsyncedDisk(disk: Disk): Disk {
  return {
    ...disk,
    open: async (path, how) => {
      const file = await disk.open(path, how);
      file.sync = async () => undefined;
      return file;
    },
    syncDirectory: async () => undefined,
  };
}

/** Stands still for good at the `at`th call and at every later one. */
export function frozenDisk(disk: Disk, at: number): { readonly disk: Disk; hasFrozen(): boolean } {
  let calls = 0;
  return {
    disk: hookedDisk(disk, () => {
      calls++;
      return calls < at ? undefined : new Promise<never>(() => undefined);
    }),
    hasFrozen: () => calls >= at,
  };
}
