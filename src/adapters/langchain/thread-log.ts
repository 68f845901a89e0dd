// The log of one thread: what is read of it, and how records are added to it while others add theirs.
import { isoTime } from "../../core/clock.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { Lru } from "../../core/lru.ts";
import { KeyedMutex } from "../../core/mutex.ts";
import { sha256 } from "../../core/sha256.ts";
import { langGraphLogs } from "../../core/storage/framework-logs.ts";
import { partIds } from "../../core/storage/kept-value.ts";
import {
  type LogHead,
  type LogRecord,
  type LogStore,
  rows,
  type StoredRecord,
  update,
} from "../../core/storage/log-store.ts";
import type { Throughline } from "../../core/throughline.ts";
import type { MadeBlocks } from "./blocks.ts";

/** What the head of a thread's log says. */
export interface ThreadHead extends LogHead {
  /** Made when the log began: one that was deleted and began again has another. */
  readonly born: string;
  /** The namespaces that were written last, the newest first. */
  readonly latest: readonly NamespaceState[];
}

export type NamespaceState = readonly [
  /** A hash of the namespace. */
  namespace: string,
  /** Its greatest checkpoint id. */
  greatest: string,
  /** Whether its checkpoints were stored in the order of their ids. */
  isOrdered: boolean,
];

/** Where a thread's log ends. */
interface ThreadState {
  readonly seq: number;
  readonly head: ThreadHead;
}

/** What one call adds. */
interface Addition {
  readonly records: readonly LogRecord[];
  readonly head: ThreadHead;
}

/** How much one append takes, in characters of JSON and in records; a record has at most 1 MiB. */
const maxAppend = { units: 1024 * 1024, records: 500 } as const;
/** Threads of which it is remembered which blocks they have, and how many blocks of each. */
const remembered = { threads: 256, blocks: 20_000 } as const;

export class ThreadLogs {
  readonly logs: LogStore;
  readonly #ports: Throughline["ports"];
  readonly #mutex = new KeyedMutex();
  /** The ids of blocks that are stored, by the `born` of their log. */
  readonly #known = new Lru<string, Set<string>>(remembered.threads);

  constructor({ storage, ports }: Throughline) {
    this.logs = storage.logs(langGraphLogs.collection, langGraphLogs.projection);
    this.#ports = ports;
  }

  /** @returns `undefined` for a thread that was never stored, or was removed. */
  async state(threadId: string): Promise<ThreadState | undefined> {
    const tail = await this.logs.tail(threadId, 0);
    return tail === undefined ? undefined : { seq: tail.seq, head: tail.head as ThreadHead };
  }

  /** The ids of all threads, those that were written last first. */
  async all(): Promise<readonly string[]> {
    return Array.fromAsync(rows(this.logs), ({ key }) => key);
  }

  /** These records and, where they hold long values, the parts of them. */
  async find(threadId: string, ids: readonly string[]): Promise<Map<string, StoredRecord>> {
    const records = new Map(ids.length === 0 ? [] : await this.logs.findAll(threadId, ids));
    const parts = Array.from(records.values(), partIds).flat();
    if (parts.length === 0) return records;
    for (const [id, part] of await this.logs.findAll(threadId, parts)) records.set(id, part);
    return records;
  }

  /** Forgets a thread. What is being added to it comes before. */
  async remove(threadId: string): Promise<void> {
    await this.#mutex.run(threadId, () => this.logs.delete(threadId));
  }

  /** Notes that these blocks are stored, so that they are not stored again. */
  remember({ born }: ThreadHead, ids: Iterable<string>): void {
    const known = this.#known.get(born) ?? new Set();
    if (known.size > remembered.blocks) known.clear();
    for (const id of ids) known.add(id);
    this.#known.set(born, known);
  }

  /** Whether this block is known to be stored: no answer where it is not remembered. */
  isKnown({ born }: ThreadHead, id: string): boolean {
    return this.#known.get(born)?.has(id) ?? false;
  }

  /**
   * Adds what `decide` says to the end of a thread's log, in one append; blocks that do not fit into it come in
   * appends before. Decides again if another one was faster.
   *
   * @param decide gets where the log ends, and returns nothing if all is stored already.
   * @param blocks what the records refer to.
   */
  async add(
    threadId: string,
    blocks: MadeBlocks,
    decide: (state: ThreadState) => Promise<Addition | undefined>,
  ): Promise<void> {
    // What is remembered may be cleared between two appends. This list makes each one store something new.
    const stored = new Set<string>();
    await this.#mutex.run(threadId, async () => {
      const isOvertaken = async (error: unknown, tries: number) => {
        const isBehind =
          isThroughlineError(error, "THROUGHLINE_CONFLICT") ||
          isThroughlineError(error, "THROUGHLINE_ID_CONFLICT");
        if (isBehind) await this.#pause(tries);
        return isBehind;
      };
      await update(() => this.#add(threadId, blocks, decide, stored), isOvertaken);
    });
  }

  async #add(
    threadId: string,
    blocks: MadeBlocks,
    decide: (state: ThreadState) => Promise<Addition | undefined>,
    stored: Set<string>,
  ): Promise<void> {
    const { newId, clock } = this.#ports;
    const state = (await this.state(threadId)) ?? { seq: 0, head: { born: newId(), latest: [] } };
    const addition = await decide(state);
    if (addition === undefined) return;
    const { born } = state.head;
    const isStored = (id: string) => this.isKnown(state.head, id) || stored.has(`${born} ${id}`);
    const missing = Array.from(blocks).filter(([id]) => !isStored(id));
    const before = missing.flatMap(([, made]) => made).filter(({ id }) => !isStored(id));
    const all = [...before, ...addition.records];
    const isOne = before.length === 0 || firstAppend(all).length === all.length;
    const first = isOne ? all : firstAppend(before);
    const head = isOne ? addition.head : state.head;
    const updatedAt = isoTime(clock.now());
    const options = { expectedSeq: state.seq, head: { ...head, updated_at: updatedAt } };
    await this.logs.append(threadId, first, options);
    this.remember(state.head, isOne ? blocks.keys() : first.map(({ id }) => id));
    for (const { id } of first) stored.add(`${born} ${id}`);
    // What is left is decided on where the log ends now.
    if (!isOne) await this.#add(threadId, blocks, decide, stored);
  }

  /** Up to 2 ms longer each time, by chance: so the slowest one succeeds too. */
  #pause(tries: number): Promise<void> {
    const { newId, timers } = this.#ports;
    const chance = sha256(newId()).readUInt8() / 255;
    return new Promise((resolve) => {
      timers.after(chance * 2 * tries, resolve, { holdsProcess: true });
    });
  }
}

/** As many of these records as go into one append, at least one. */
function firstAppend(records: readonly LogRecord[]): readonly LogRecord[] {
  let units = 0;
  const end = records.findIndex((record, index) => {
    units += JSON.stringify(record).length;
    return index > 0 && (units > maxAppend.units || index >= maxAppend.records);
  });
  return end < 0 ? records : records.slice(0, end);
}
