// The log of one thread: what is read of it, and how records are added to it while others add theirs.
import { isoTime } from "../../core/clock.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { Lru } from "../../core/lru.ts";
import { KeyedMutex } from "../../core/mutex.ts";
import { sha256 } from "../../core/sha256.ts";
import { appendGroups } from "../../core/storage/batch.ts";
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
import { until } from "../../core/timers.ts";
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

/** What one call adds. */
export interface Addition {
  readonly records: readonly LogRecord[];
  readonly head: ThreadHead;
}

/** Threads of which it is remembered which blocks they have, and how many blocks of each. */
const remembered = { threads: 256, blocks: 4_000 } as const;

/** A thread as its log was when it was read. */
export interface Thread {
  readonly id: string;
  readonly logs: LogStore;
  /** Where its log ended; 0: it is new. */
  readonly seq: number;
  readonly head: ThreadHead;
  /** The ids of blocks that are stored, as far as they are remembered. */
  readonly known: Set<string>;
}

/** Notes that these blocks are stored, so that they are not stored again. */
export function remember({ known }: Thread, ids: Iterable<string>): void {
  if (known.size > remembered.blocks) known.clear();
  for (const id of ids) known.add(id);
}

/** These records and, where they hold long values, the parts of them. */
export async function withParts(
  { id: threadId, logs }: Thread,
  ids: readonly string[],
): Promise<Map<string, StoredRecord>> {
  const records = new Map(ids.length === 0 ? [] : await logs.findAll(threadId, ids));
  const parts = Array.from(records.values(), partIds).flat();
  if (parts.length === 0) return records;
  for (const [id, part] of await logs.findAll(threadId, parts)) records.set(id, part);
  return records;
}

export class ThreadLogs {
  readonly #logs: LogStore;
  readonly #ports: Throughline["ports"];
  readonly #mutex = new KeyedMutex();
  /** The ids of blocks that are stored, by the `born` of their log. */
  readonly #known = new Lru<string, Set<string>>(remembered.threads);

  constructor({ storage, ports }: Throughline) {
    this.#logs = storage.logs(langGraphLogs.collection, langGraphLogs.projection);
    this.#ports = ports;
  }

  /** @returns `undefined` for a thread that was never stored, or was removed. */
  async open(threadId: string): Promise<Thread | undefined> {
    const tail = await this.#logs.tail(threadId, 0);
    return tail && this.#thread(threadId, tail.seq, tail.head as ThreadHead);
  }

  #thread(threadId: string, seq: number, head: ThreadHead): Thread {
    const known = this.#known.get(head.born) ?? new Set();
    this.#known.set(head.born, known);
    return { id: threadId, logs: this.#logs, seq, head, known };
  }

  /** The ids of all threads, those that were written last first. */
  async all(): Promise<readonly string[]> {
    return Array.fromAsync(rows(this.#logs), ({ key }) => key);
  }

  /** Forgets a thread. What is being added to it comes before. */
  async remove(threadId: string): Promise<void> {
    await this.#mutex.run(threadId, () => this.#logs.delete(threadId));
  }

  /**
   * Adds what `decide` says to the end of a thread's log, in one append; blocks that do not fit into it come in
   * appends before. Decides again if another one was faster.
   *
   * @param decide gets the thread as it is, and returns nothing if all is stored already.
   * @param blocks what the records refer to.
   */
  async add(
    threadId: string,
    blocks: MadeBlocks,
    decide: (thread: Thread) => Promise<Addition | undefined>,
  ): Promise<void> {
    const isOvertaken = async (error: unknown, tries: number) => {
      const codes = ["THROUGHLINE_CONFLICT", "THROUGHLINE_ID_CONFLICT"] as const;
      const isBehind = isThroughlineError(error, ...codes);
      if (isBehind) await this.#pause(tries);
      return isBehind;
    };
    const { newId, clock } = this.#ports;
    const append = async () => {
      const began = () => this.#thread(threadId, 0, { born: newId(), latest: [] });
      const thread = (await this.open(threadId)) ?? began();
      const addition = await decide(thread);
      if (addition === undefined) return;
      const missing = Array.from(blocks).filter(([id]) => !thread.known.has(id));
      const before = missing.flatMap(([, made]) => made.filter(({ id }) => !thread.known.has(id)));
      const all = [...before, ...addition.records];
      const isOne = before.length === 0 || appendGroups(all, itself).length === 1;
      const stamped = (head: ThreadHead) => ({ ...head, updated_at: isoTime(clock.now()) });
      let { seq } = thread;
      for (const group of isOne ? [] : appendGroups(before, itself)) {
        const options = { expectedSeq: seq, head: stamped(thread.head) };
        // What is stored already may be forgotten: such a group stays where it is.
        seq = Math.max(seq, await this.#logs.append(threadId, group, options));
        const ids = group.map(({ id }) => id);
        remember(thread, ids);
      }
      const options = { expectedSeq: seq, head: stamped(addition.head) };
      await this.#logs.append(threadId, isOne ? all : addition.records, options);
      remember(thread, blocks.keys());
    };
    await this.#mutex.run(threadId, () => update(append, isOvertaken));
  }

  /** Up to 2 ms longer each time, by chance: so the slowest one succeeds too. */
  async #pause(tries: number): Promise<void> {
    const { newId, timers } = this.#ports;
    const chance = sha256(newId()).readUInt8() / 255;
    await until(new Promise(() => undefined), { ms: chance * 2 * tries, timers });
  }
}

const itself = (record: LogRecord) => record;
