// A disk that calls back before each call, so that a test can do something at any point of a job.
import type { Disk, DiskFile } from "../../src/core/storage/disk/disk.ts";

/**
 * @param before is waited for. Where it never settles, the job stands still as if it was killed. `of`: how a file is
 * opened, or the place that is written to.
 */
export function hookedDisk(
  disk: Disk,
  before: (
    call: keyof Disk | keyof DiskFile,
    path: string,
    of?: number | "read" | "write" | "create",
  ) => Promise<void> | void,
): Disk {
  const hooked = (file: DiskFile, path: string): DiskFile => ({
    read: async (into, position) => {
      await before("read", path);
      return file.read(into, position);
    },
    write: async (bytes, position) => {
      await before("write", path, position);
      return file.write(bytes, position);
    },
    size: () => file.size(),
    placeAt: (at) => file.placeAt(at),
    truncate: async (size) => {
      await before("truncate", path);
      return file.truncate(size);
    },
    extend: (from, size) => file.extend(from, size),
    sync: async (here) => {
      await before("sync", path);
      return file.sync(here);
    },
    close: () => file.close(),
  });
  return {
    open: async (path, how) => {
      await before("open", path, how);
      return hooked(await disk.open(path, how), path);
    },
    mkdir: async (path) => {
      await before("mkdir", path);
      return disk.mkdir(path);
    },
    list: async (path) => {
      await before("list", path);
      return disk.list(path);
    },
    size: (path) => disk.size(path),
    rename: async (from, to) => {
      await before("rename", from);
      return disk.rename(from, to);
    },
    link: (from, to) => disk.link(from, to),
    unlink: async (path) => {
      await before("unlink", path);
      return disk.unlink(path);
    },
    rmdir: async (path) => {
      await before("rmdir", path);
      return disk.rmdir(path);
    },
    syncDirectory: async (path) => {
      await before("syncDirectory", path);
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
