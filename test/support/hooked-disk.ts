// A disk whose calls go through a test, which does something before each, in its place or after it.
import type { Disk, DiskFile, FilePlace } from "../../src/core/storage/disk/disk.ts";

type CallName = keyof Disk | keyof DiskFile;
type Opening = Parameters<Disk["open"]>[1];

/** One call of a disk or of a file on it. */
export interface DiskCallMade<T = unknown> {
  readonly call: CallName;
  /** Of an open file, that by which it was opened. */
  readonly path: string;
  /** The new name of what is renamed. */
  readonly to?: string;
  /** How a file is opened, or the place that is written to. */
  readonly of?: number | Opening;
  /** The file whose call it is. */
  readonly file?: DiskFile;
  /** Does half of a read, a write or an extension. */
  readonly half?: () => Promise<T>;
  /** Takes back what a call made: closes what it opened. */
  readonly undo?: (made: T) => Promise<void>;
}

/** @param act does it. */
export type AroundCall = <T>(made: DiskCallMade<T>, act: () => Promise<T>) => Promise<T>;

/** A short count is never 0: that would be the end of the file, or a kernel that does not move. */
const halfOf = (bytes: Uint8Array) => bytes.subarray(0, Math.max(1, bytes.length >> 1));

/** @param place looks at what a path leads to, which cannot be waited for. */
export function diskAround(
  disk: Disk,
  around: AroundCall,
  place: (path: string, look: () => FilePlace) => FilePlace = (_, look) => look(),
): Disk {
  const fileAround = (file: DiskFile, path: string): DiskFile => {
    const made = <Call extends CallName>(call: Call) => ({ call, path, file });
    return {
      read: (into, position) => {
        const half = () => file.read(halfOf(into), position);
        return around({ ...made("read"), half }, () => file.read(into, position));
      },
      write: (bytes, position) => {
        const half = () => file.write(halfOf(bytes), position);
        const writing = { ...made("write"), half, of: position };
        return around(writing, () => file.write(bytes, position));
      },
      size: () => around(made("size"), () => file.size()),
      placeAt: (at) => place(at, () => file.placeAt(at)),
      truncate: (size) => around(made("truncate"), () => file.truncate(size)),
      extend: (from, size) => {
        const half = () => file.extend(from, from + ((size - from) >> 1));
        return around({ ...made("extend"), half }, () => file.extend(from, size));
      },
      sync: (here) => around(made("sync"), () => file.sync(here)),
      close: () => around(made("close"), () => file.close()),
    };
  };
  return {
    ...("tree" in disk && { tree: disk.tree }),
    open: async (path, of) => {
      const undo = (opened: DiskFile) => opened.close();
      const file = await around({ call: "open", path, of, undo }, () => disk.open(path, of));
      return fileAround(file, path);
    },
    mkdir: (path) => around({ call: "mkdir", path }, () => disk.mkdir(path)),
    list: (path) => around({ call: "list", path }, () => disk.list(path)),
    size: (path) => around({ call: "size", path }, () => disk.size(path)),
    rename: (path, to) => around({ call: "rename", path, to }, () => disk.rename(path, to)),
    unlink: (path) => around({ call: "unlink", path }, () => disk.unlink(path)),
    rmdir: (path) => around({ call: "rmdir", path }, () => disk.rmdir(path)),
    syncDirectory: (path) =>
      around({ call: "syncDirectory", path }, () => disk.syncDirectory(path)),
  };
}

/** What nobody wants to do something before. */
const unnoticed: readonly CallName[] = ["size", "extend", "close"];

/** @param before is waited for. Where it never settles, the job stands still as if it was killed. */
export function hookedDisk(
  disk: Disk,
  before: (
    call: CallName,
    path: string,
    more: { readonly half: () => Promise<unknown>; readonly of?: number | Opening | undefined },
  ) => Promise<void> | void,
): Disk {
  return diskAround(disk, async ({ call, path, of, half = async () => undefined }, act) => {
    if (!unnoticed.includes(call)) await before(call, path, { half, of });
    return act();
  });
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
