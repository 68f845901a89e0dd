import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { systemClock } from "../../src/core/clock.ts";
import { randomId } from "../../src/core/ids.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { type Disk, directoryChanged, realDisk } from "../../src/core/storage/disk/disk.ts";
import type { CollectionIndex } from "../../src/core/storage/files/collection-index.ts";
import { coverageOf } from "../../src/core/storage/files/collection-index.ts";
import { FileStorage } from "../../src/core/storage/files/file-storage.ts";
import { FileIndex } from "../../src/core/storage/files/index.ts";
import { openFileStorage } from "../../src/core/storage/files/open-file-storage.ts";
import type { Durability } from "../../src/core/storage/storage.ts";
import { systemTimers, type Timers } from "../../src/core/timers.ts";

/** Of an index that writes nothing before it has to, so that no thread is started. */
export const never: Timers = { after: () => () => undefined };

/** Of an index that writes what waits in the next pass of the event loop. */
export const atOnce: Timers = {
  after(_, call) {
    const timer = setImmediate(call);
    return () => clearImmediate(timer);
  },
};

const opened = new Set<FileStorage>();

/** Where there is a disk in memory, syncing costs nothing. */
export const quickDisk = fs.existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir();

/** A folder that is gone after the test, once the homes are closed that the test opened. */
export function homeFolder(t: TestContext): string {
  const home = fs.mkdtempSync(join(quickDisk, "throughline-home-"));
  t.after(async () => {
    for (const storage of opened) await storage.close();
    opened.clear();
    fs.rmSync(home, { recursive: true, force: true });
  });
  return home;
}

/** Opens a new home as users do; it is closed and removed after the test. */
export async function openedHome(t: TestContext, durability: Durability = "power-cut") {
  const home = homeFolder(t);
  const storage = await openFileStorage({ home, durability });
  opened.add(storage);
  return { home, storage };
}

/** The home as a kill leaves it now; a thread must not write while it is copied. */
export function killedCopy(t: TestContext, home: string): string {
  const copy = homeFolder(t);
  for (;;) {
    try {
      fs.cpSync(home, copy, { recursive: true });
      return copy;
    } catch (error) {
      // A file of it was removed in the middle of this.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      fs.rmSync(copy, { recursive: true });
    }
  }
}

export interface IndexedHomeOptions {
  readonly disk?: Disk;
  /** Of the index: when it writes. */
  readonly timers?: Timers;
  /** Of everything else. @default systemTimers */
  readonly homeTimers?: Timers;
  /** Appends wait past so many bytes that the index lacks. */
  readonly mostBehindBytes?: number;
  /** Of the journal. A segment that is full has the index synced. @default 65_536 */
  readonly segmentBytes?: number;
  /** Called with the index of each collection. */
  readonly onOpened?: ((part: CollectionIndex, index: FileIndex) => void) | undefined;
}

/** Opens a home as `openFileStorage` does, with its disk and its index in the hands of a test. */
export async function openIndexed(home: string, options: IndexedHomeOptions = {}) {
  const { disk = realDisk, timers = systemTimers } = options;
  const { segmentBytes = 65_536, mostBehindBytes, homeTimers = systemTimers } = options;
  const index = new FileIndex(join(home, "index.db"), { mostBehindBytes, timers });
  const coverage = coverageOf(index, "chats", directoryChanged(join(home, "chats")));
  const open = index.open.bind(index);
  index.open = (part) => {
    open(part);
    options.onOpened?.(part as CollectionIndex, index);
  };
  const storage = await FileStorage.open({
    home,
    disk,
    index,
    directoryChanged,
    durability: "power-cut",
    segmentBytes,
    maxOpen: 256,
    clock: systemClock,
    timers: homeTimers,
    newId: randomId,
    logger: silentLogger,
    guard: () => undefined,
    release: () => index.close(),
  });
  opened.add(storage);
  return { storage, index, coverage };
}
