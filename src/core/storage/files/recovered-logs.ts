import { basename, join } from "node:path";
import { KeyedMutex } from "../../mutex.ts";
import { batchAt } from "./batch-reader.ts";
import { headOf } from "./commit.ts";
import { type HomePorts, isThere } from "./file-ports.ts";
import type { Change, Frame } from "./journal-frame.ts";
import { completeLog } from "./journal-recovery.ts";
import { collectionOf, settle } from "./journal-segment.ts";

/** What the journal of the last process holds, until it is in the logs and in their indexes. */
export class RecoveredLogs {
  readonly #ports: HomePorts;
  /** What the file of each log may lack, by its path in the home. */
  readonly #incomplete = new Map<string, readonly Frame[]>();
  readonly #completing = new KeyedMutex();
  /** What the index of each log may lack. */
  readonly #unindexed = new Map<string, readonly Change[]>();
  /** Collections and keys of logs that had no file. */
  readonly #recreated: (readonly [collection: string, key: string])[] = [];

  constructor(ports: HomePorts) {
    this.#ports = ports;
  }

  async add(frames: readonly Frame[]): Promise<void> {
    const { disk, home } = this.#ports;
    for (const [name, changes] of Map.groupBy(frames, ({ path }) => path)) {
      this.#incomplete.set(name, changes);
      const isIndexed = changes.every(({ position }) => position < this.#ports.index.mark);
      if (!isIndexed) this.#unindexed.set(name, settle(changes).kept);
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

  /** Makes a log end as the journal says, once. */
  async complete(name: string): Promise<void> {
    if (!this.#incomplete.has(name)) return;
    await this.#completing.run(name, async () => {
      const changes = this.#incomplete.get(name);
      if (changes === undefined) return;
      await completeLog(this.#ports, name, changes);
      this.#incomplete.delete(name);
    });
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

  /** Whether the index of each collection was given all of it, or never will be. */
  get areIndexed(): boolean {
    return this.#unindexed.size === 0;
  }

  /** What the index of a collection may lack of its logs, in order. Once: it takes memory. */
  takeUnindexed(collection: string): (readonly Change[])[] {
    const taken: (readonly Change[])[] = [];
    for (const [name, changes] of this.#unindexed) {
      if (collectionOf(name) !== collection) continue;
      taken.push(changes);
      this.#unindexed.delete(name);
    }
    return taken;
  }

  /** It is in the journal no longer: the next index of these logs must be compared with them. */
  async leaveUnindexed(): Promise<void> {
    const collections = new Set(Array.from(this.#unindexed.keys(), collectionOf));
    this.#unindexed.clear();
    for (const collection of collections) await this.#ports.index.uncover(collection);
  }
}

/** The key of a log, if the journal holds its beginning. */
function keyOfNew(changes: readonly Frame[]): string | undefined {
  const [first] = settle(changes).kept;
  const batch = first?.offset === 0 ? batchAt(first.bytes, 0) : undefined;
  return batch && headOf(batch.line).key;
}
