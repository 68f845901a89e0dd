// A home on the disk of this machine, with segments so small that they are freed and used again all the time.
import { systemClock } from "../../src/core/clock.ts";
import { randomId } from "../../src/core/ids.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { directoryChanged, realDisk } from "../../src/core/storage/disk/disk.ts";
import { FileStorage } from "../../src/core/storage/files/file-storage.ts";
import { FileIndex } from "../../src/core/storage/files/index.ts";
import { oncePerPass, takeLease } from "../../src/core/storage/files/lease.ts";
import { systemTimers } from "../../src/core/timers.ts";
import { projection } from "./storage-workload.ts";

const segmentBytes = 16 * 1024;

export async function openRealHome(home: string) {
  await realDisk.mkdir(home).catch(() => undefined); // it may be there
  const lease = takeLease(home, { force: false, clock: systemClock, logger: silentLogger });
  const index = new FileIndex(`${home}/index.db`);
  const storage = await FileStorage.open({
    home,
    segmentBytes,
    clock: systemClock,
    newId: randomId,
    logger: silentLogger,
    durability: "power-cut",
    timers: systemTimers,
    disk: realDisk,
    index,
    directoryChanged,
    maxOpen: 256,
    guard: oncePerPass(() => lease.check()),
    async release() {
      await index.close();
      lease.release();
    },
  });
  return { storage, logs: storage.logs("chats", projection) };
}
