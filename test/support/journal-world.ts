// What the tests of the journal share.
import type { Disk } from "../../src/core/storage/disk/disk.ts";
import type { FileIndex } from "../../src/core/storage/files/index.ts";
import type { SimulatedDisk } from "./simulated-disk.ts";
import { openOn } from "./storage-workload.ts";

export const folder = "/home/journal";
export const first = `${folder}/00000001.journal`;
export const logOf = (key: string) => `/home/chats/${key}.jsonl`;
export const record = (id: string) => ({ id, content: `the words of ${id}` });
export const refused = { code: "THROUGHLINE_UNAVAILABLE" };
export const unknown = { code: "THROUGHLINE_OUTCOME_UNKNOWN" };

export async function bytesOf(disk: SimulatedDisk, path: string): Promise<Buffer> {
  const file = await disk.open(path, "read");
  const bytes = Buffer.alloc(await file.size());
  await file.read(bytes, 0);
  return bytes;
}

export async function write(disk: SimulatedDisk, path: string, bytes: Uint8Array): Promise<void> {
  await disk.unlink(path).catch(() => undefined);
  await (await disk.open(path, "create")).write(bytes, 0);
}

export const segmentsOn = async (disk: SimulatedDisk) =>
  (await disk.list(folder)).map(({ name }) => name);

/** The ids that each log holds when a home is opened on this disk. */
export async function idsOn(disk: SimulatedDisk, keys = ["a"]): Promise<string[][]> {
  const { storage, logs } = await openOn(disk);
  const ids: string[][] = [];
  for (const key of keys) {
    ids.push((await Array.fromAsync(logs.read(key))).map(({ id }) => id));
  }
  await storage.close();
  return ids;
}

/** With a journal in which all that a test does has room. */
export const openLarge = (disk: Disk, prepare?: (index: FileIndex) => void) =>
  openOn(disk, { prepare, segmentBytes: 65_536 });

export const callsOn = (disk: SimulatedDisk, from = 0) =>
  disk.operations.slice(from).map(({ call, path }) => `${call} ${path}`);
