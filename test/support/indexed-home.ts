import { join } from "node:path";
import { systemClock } from "../../src/core/clock.ts";
import { randomId } from "../../src/core/ids.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { type Disk, directoryChanged, realDisk } from "../../src/core/storage/disk/disk.ts";
import type { CollectionIndex } from "../../src/core/storage/files/collection-index.ts";
import { FileStorage } from "../../src/core/storage/files/file-storage.ts";
import { FileIndex } from "../../src/core/storage/files/index.ts";
import { systemTimers, type Timers } from "../../src/core/timers.ts";

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
  const coverage = index.coverageOf("chats", directoryChanged(join(home, "chats")));
  const open = index.open.bind(index);
  index.open = (collection, projection, part) => {
    open(collection, projection, part);
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
  return { storage, index, coverage };
}
