// What a process left of the journal: every log is made to end as the journal says.
import { basename, dirname, join } from "node:path";
import { KeyedMutex } from "../../mutex.ts";
import type { DiskFile } from "../disk/disk.ts";
import {
  batchAt,
  batchesBackward,
  batchesForward,
  readExactly,
  recordsOf,
} from "./batch-reader.ts";
import type { CollectionIndex } from "./collection-index.ts";
import { headOf } from "./commit.ts";
import { collectionOf } from "./file-name.ts";
import {
  type HomePorts,
  inSpaceOfIndex,
  isCode,
  isThere,
  makeDirectory,
  unlessAbsent,
  unlinkIfThere,
  writeAll,
} from "./file-ports.ts";
import {
  type Change,
  type Frame,
  type ReadSegment,
  readSegment,
  segmentName,
  validFrames,
} from "./journal-frame.ts";
import { newSegment, noteChange, type Segment, settle } from "./journal-segment.ts";

export interface FoundJournal {
  /** In the order in which they were begun. */
  readonly segments: readonly Segment[];
  readonly nth: number;
  /** Before this position every frame is durable. What comes after may be lost with a power cut. */
  readonly from: number;
  readonly frames: readonly Frame[];
}

interface FoundSegment extends ReadSegment {
  readonly segment: Segment;
}

/**
 * Reads the journal of a process that is gone.
 *
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`.
 */
export async function readJournal(ports: HomePorts, folder: string): Promise<FoundJournal> {
  const read: FoundSegment[] = [];
  let nth = 0;
  try {
    for (const name of await segmentNames(ports, folder)) {
      nth = Math.max(nth, Number.parseInt(name, 10));
      const found = await openSegment(ports, join(folder, name));
      if (found !== undefined) read.push(found);
    }
    // What is added to a log is no use without what came before it.
    const isUnsynced = read.some(({ header }) => header.unsynced);
    if (isUnsynced) for (const { segment } of read) await segment.file.sync();
  } catch (error) {
    for (const { segment } of read) await segment.file.close().catch(() => undefined);
    throw error;
  }
  read.sort((a, b) => a.header.nth - b.header.nth);
  return {
    nth: Math.max(nth, ...read.map(({ header }) => header.nth)),
    segments: read.map(({ segment }) => segment),
    ...valid(read),
  };
}

/** The frames that count, in order. Notes their logs in their segments. */
function valid(read: readonly FoundSegment[]): Pick<FoundJournal, "from" | "frames"> {
  const kept = validFrames(read);
  for (const [i, { segment, frames }] of read.entries()) {
    const some = kept[i] ?? [];
    for (const { path, offset } of some) noteChange(segment, path, offset);
    const givenUp = frames[some.length];
    if (givenUp !== undefined) segment.end = givenUp.position - segment.position;
  }
  const frames = kept.flat();
  const first = Math.min(...read.map(({ header }) => header.position));
  const from = frames.reduce((most, { durable }) => Math.max(most, durable), first);
  return { from, frames };
}

async function segmentNames({ disk }: HomePorts, folder: string): Promise<readonly string[]> {
  const listing = (await disk.list(folder).catch(unlessAbsent)) ?? [];
  return listing.map(({ name }) => name).filter((name) => segmentName.test(name));
}

/** @returns `undefined`, and the file is gone, when nothing in it was ever acknowledged. */
async function openSegment(ports: HomePorts, path: string): Promise<FoundSegment | undefined> {
  const file = await ports.disk.open(path, "read");
  try {
    const read = readSegment(await readExactly(file, 0, await file.size()));
    if (read === undefined) {
      ports.guard();
      await unlinkIfThere(ports.disk, path);
      await file.close();
      return undefined;
    }
    const segment = newSegment(path, file, false);
    segment.nth = read.header.nth;
    segment.position = read.header.position;
    segment.end = read.end - segment.position;
    return { segment, ...read };
  } catch (error) {
    await file.close().catch(() => undefined); // what failed before is the news
    throw error;
  }
}

/**
 * Makes a log end as the journal says. A file that somebody put in its place is left alone. Nothing is synced, and
 * what the log holds already is written again: a sync of it may have failed, and then the next one
 * would say that all is well.
 */
async function completeLog(
  ports: HomePorts,
  name: string,
  changes: readonly Change[],
): Promise<void> {
  const { kept, replaced } = settle(changes);
  const [first] = kept;
  if (first === undefined) return;
  const path = join(ports.home, name);
  const file = await openLog(ports, path, first.offset === 0 && first.bytes.length > 0);
  if (file === undefined) return; // somebody removed it
  try {
    const size = await file.size();
    let at = 0;
    for (const change of kept) {
      if (!(await holds(file, change))) break;
      ports.guard();
      await writeAll(file, change.bytes, change.offset);
      at++;
    }
    const next = kept[at];
    if (next !== undefined) {
      if (at === 0 && !(await follows(file, first))) return;
      if (await goesOnOtherwise(file, next.offset, replaced)) return;
      const missing = kept.slice(at);
      await cutBack(ports, path, file, next.offset, missing);
      const length = missing.reduce((sum, { bytes }) => sum + bytes.length, 0);
      await inSpaceOfIndex(ports.index, length, async () => {
        for (const { bytes, offset } of missing) await writeAll(file, bytes, offset);
      });
      return;
    }
    const last = kept.at(-1);
    if (last === undefined || last.bytes.length > 0 || size === last.offset) return;
    // It was to be cut back there, which perhaps did not happen.
    const undone = replaced.filter(({ offset }) => offset === last.offset);
    if (undone.length === 0 || (await goesOnOtherwise(file, last.offset, replaced))) return;
    await cutBack(ports, path, file, last.offset, undone);
  } finally {
    await file.close();
  }
}

/** Cuts a file back. What is not a part of these changes, with gaps of NUL bytes, is set aside first. */
async function cutBack(
  ports: HomePorts,
  path: string,
  file: DiskFile,
  from: number,
  changes: readonly Change[],
): Promise<void> {
  const found = await readExactly(file, from, (await file.size()) - from);
  const expected = Buffer.concat(changes.map(({ bytes }) => bytes));
  const isOurs = found.every((byte, i) => byte === 0 || byte === expected[i]);
  ports.guard();
  if (!isOurs) await setAside(ports, path, file, from);
  await file.truncate(from);
}

/** Keeps the end of a log's file, from here on, and reports that it is cut off. */
async function setAside(
  ports: HomePorts,
  path: string,
  file: DiskFile,
  from: number,
): Promise<void> {
  const end = await file.size();
  const quarantined = await ports.quarantine(path, file, from, end);
  ports.report(basename(dirname(path)), {
    key: basename(path, ".jsonl"),
    kind: "torn_tail",
    bytes: end - from,
    after_seq: 0,
    quarantined,
    reason: `${end - from} bytes lay where the journal has others, and were set aside`,
  });
}

async function openLog(
  { disk, guard }: HomePorts,
  path: string,
  isNew: boolean,
): Promise<DiskFile | undefined> {
  try {
    return await disk.open(path, "write");
  } catch (error) {
    if (!isCode(error, "ENOENT")) throw error;
    if (!isNew) return undefined;
    guard();
    await makeDirectory(disk, dirname(path));
    return disk.open(path, "create");
  }
}

async function holds(file: DiskFile, { offset, bytes }: Change): Promise<boolean> {
  return (await readExactly(file, offset, bytes.length)).equals(bytes);
}

/** Whether a whole batch begins there of which the journal does not know: the file is the newer one. */
async function goesOnOtherwise(
  file: DiskFile,
  offset: number,
  replaced: readonly Change[],
): Promise<boolean> {
  for await (const item of batchesForward(file, offset, await file.size())) {
    if (item.kind === "damage" || item.start !== offset) return false;
    for (const change of replaced) {
      if (change.offset === offset && (await holds(file, change))) return false;
    }
    return true;
  }
  return false;
}

/** Whether this change continues what the file holds before it. */
async function follows(file: DiskFile, { offset, bytes }: Change): Promise<boolean> {
  if (offset === 0) return true;
  for await (const item of batchesBackward(file, offset)) {
    return (
      item.kind === "batch" &&
      item.end === offset &&
      item.commit.crc === batchAt(bytes, offset)?.commit.prev
    );
  }
  return false;
}

/** What the journal of the last process holds, until it is in the logs and in their indexes. */
export class RecoveredLogs {
  readonly #ports: HomePorts;
  /** What the file of each log may lack, by its path in the home. */
  readonly #incomplete = new Map<string, readonly Frame[]>();
  readonly #completing = new KeyedMutex();
  /** The changes of each log, in their order, until the index of its collection knows of them. */
  readonly #unindexed = new Map<string, readonly Frame[]>();
  /** Collections and keys of logs that had no file. */
  readonly #recreated: (readonly [collection: string, key: string])[] = [];

  constructor(ports: HomePorts) {
    this.#ports = ports;
  }

  async add(frames: readonly Frame[]): Promise<void> {
    const { disk, home } = this.#ports;
    for (const [name, changes] of Map.groupBy(frames, ({ path }) => path)) {
      this.#incomplete.set(name, changes);
      this.#unindexed.set(name, changes);
      const key = keyOfNew(changes);
      if (key === undefined) continue;
      // Where that cannot be told, nothing is taken for made again.
      if (await isThere(disk, join(home, name)).catch(() => true)) continue;
      this.#recreated.push([collectionOf(name), key]);
    }
  }

  /** The keys of logs of a collection that get a file again, because they had none at the start. */
  recreated(collection: string): readonly string[] {
    return this.#recreated.flatMap(([name, key]) => (name === collection ? [key] : []));
  }

  /** Makes a log end as the journal says, once. Called before it is opened. */
  async complete(name: string): Promise<void> {
    if (!this.#incomplete.has(name)) return;
    await this.#completing.run(name, async () => {
      const changes = this.#incomplete.get(name);
      if (changes === undefined) return;
      await completeLog(this.#ports, name, changes);
      this.#incomplete.delete(name);
    });
  }

  /** Where a log ends once it is complete. `undefined`: it is. */
  endOf(name: string): number | undefined {
    const last = this.#incomplete.get(name)?.at(-1);
    return last && last.offset + last.bytes.length;
  }

  /**
   * The keys of logs of a collection that have no file yet.
   *
   * @param files the names of those that have one.
   */
  keysWithoutFile(collection: string, files: ReadonlySet<string>): readonly string[] {
    return Array.from(this.#incomplete).flatMap(([name, changes]) => {
      if (collectionOf(name) !== collection || files.has(basename(name))) return [];
      return keyOfNew(changes) ?? [];
    });
  }

  /** Has the index of a collection know which logs it will read of in the journal. */
  tell(collection: string, index: CollectionIndex): void {
    const { mark } = this.#ports.index;
    for (const [name, all] of this.#unindexed) {
      if (collectionOf(name) !== collection) continue;
      this.#unindexed.delete(name);
      const changes = settle(all.filter(({ position }) => position >= mark)).kept;
      const last = changes.at(-1);
      const batch = last && batchAt(last.bytes, last.offset);
      if (batch === undefined) continue;
      const { seq, crc } = batch.commit;
      const state = { ...headOf(batch.line), seq, crc, end: batch.end };
      index.recovered(state, changes[0]?.offset ?? 0, () => idsIn(changes));
    }
  }
}

/** The ids of the records in these changes, with their numbers. */
function idsIn(changes: readonly Change[]): readonly (readonly [id: string, seq: number])[] {
  const batches = changes.map(({ bytes, offset }) => batchAt(bytes, offset));
  const records = batches.flatMap((batch) => (batch === undefined ? [] : recordsOf(batch)));
  return records.map(({ id, seq }) => [id, seq]);
}

/** The key of a log, if the journal holds its beginning. */
function keyOfNew(changes: readonly Frame[]): string | undefined {
  if (!changes.some(({ offset }) => offset === 0)) return undefined;
  const [first] = settle(changes).kept;
  const batch = first?.offset === 0 ? batchAt(first.bytes, 0) : undefined;
  return batch && headOf(batch.line).key;
}
