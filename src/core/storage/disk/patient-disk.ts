import { setImmediate } from "node:timers/promises";
import { isCode } from "../files/file-ports.ts";
import type { Disk, DiskFile } from "./disk.ts";

/** How often an interrupted call is made again, the event loop turning in between. */
const attempts = 20;

/**
 * A disk whose interrupted calls are made again: EINTR and EAGAIN say that nothing happened. A sync
 * is never made again, whatever it said: a failed one may have thrown away what it should have kept.
 */
export function patientDisk(disk: Disk): Disk {
  return {
    open: async (path, how) => patientFile(await patiently(() => disk.open(path, how))),
    mkdir: (path) => patiently(() => disk.mkdir(path)),
    list: (path) => patiently(() => disk.list(path)),
    size: (path) => patiently(() => disk.size(path)),
    rename: (from, to) => patiently(() => disk.rename(from, to)),
    link: (from, to) => patiently(() => disk.link(from, to)),
    unlink: (path) => patiently(() => disk.unlink(path)),
    rmdir: (path) => patiently(() => disk.rmdir(path)),
    syncDirectory: (path) => disk.syncDirectory(path),
  };
}

function patientFile(file: DiskFile): DiskFile {
  return {
    read: (into, position) => patiently(() => file.read(into, position)),
    write: (bytes, position) =>
      file.write(bytes, position).catch((error) => again(error, () => file.write(bytes, position))),
    size: () => patiently(() => file.size()),
    placeAt: (path) => file.placeAt(path),
    truncate: (size) => patiently(() => file.truncate(size)),
    extend: (from, size) => patiently(() => file.extend(from, size)),
    sync: (here) => file.sync(here),
    close: () => file.close(),
  };
}

const patiently = <T>(call: () => Promise<T>): Promise<T> =>
  call().catch((error) => again(error, call));

/** Makes a call again that was interrupted, or throws its error. */
async function again<T>(first: unknown, call: () => Promise<T>): Promise<T> {
  let error = first;
  for (let attempt = 2; attempt <= attempts && isCode(error, "EINTR", "EAGAIN"); attempt++) {
    await setImmediate();
    try {
      return await call();
    } catch (failure) {
      error = failure;
    }
  }
  throw error;
}
