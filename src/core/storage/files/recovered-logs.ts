import { basename, join } from "node:path";
import { KeyedMutex } from "../../mutex.ts";
import { batchAt } from "./batch-reader.ts";
import type { CollectionIndex } from "./collection-index.ts";
import { headOf } from "./commit.ts";
import { type HomePorts, isThere } from "./file-ports.ts";
import type { Frame } from "./journal-frame.ts";
import { completeLog } from "./journal-recovery.ts";
import { collectionOf, settle } from "./journal-segment.ts";

/** What the journal of the last process holds, until it is in the logs and in their indexes. */
export class RecoveredLogs {
  readonly #ports: HomePorts;
  /** What the file of each log may lack, by its path in the home. */
  readonly #incomplete = new Map<string, readonly Frame[]>();
  readonly #completing = new KeyedMutex();
  /** What the index has yet to read of each log, in their order. */
  readonly #unindexed = new Map<string, readonly Frame[]>();
  /** Collections and keys of logs that had no file. */
  readonly #recreated: (readonly [collection: string, key: string])[] = [];

  constructor(ports: HomePorts) {
    this.#ports = ports;
  }

  async add(frames: readonly Frame[]): Promise<void> {
    const { disk, home, index } = this.#ports;
    const { mark } = index;
    for (const [name, changes] of Map.groupBy(frames, ({ path }) => path)) {
      this.#incomplete.set(name, changes);
      const unindexed = changes.filter(({ position }) => position >= mark);
      if (unindexed.length > 0) this.#unindexed.set(name, settle(unindexed).kept);
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
    for (const [name, changes] of this.#unindexed) {
      if (collectionOf(name) !== collection) continue;
      this.#unindexed.delete(name);
      const last = changes.at(-1);
      // The index passed it while the collection was not open.
      if (last && last.position < this.#ports.index.mark) continue;
      const batch = last && batchAt(last.bytes, last.offset);
      if (batch === undefined) continue;
      const { seq, crc } = batch.commit;
      index.recovered({ ...headOf(batch.line), seq, crc, end: batch.end }, changes[0]?.offset ?? 0);
    }
  }
}

/** The key of a log, if the journal holds its beginning. */
function keyOfNew(changes: readonly Frame[]): string | undefined {
  const [first] = settle(changes).kept;
  const batch = first?.offset === 0 ? batchAt(first.bytes, 0) : undefined;
  return batch && headOf(batch.line).key;
}
