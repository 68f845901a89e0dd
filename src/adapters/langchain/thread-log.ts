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
    const isOvertaken = async (error: unknown, tries: number) => {
      const codes = ["THROUGHLINE_CONFLICT", "THROUGHLINE_ID_CONFLICT"] as const;
      const isBehind = isThroughlineError(error, ...codes);
      if (isBehind) await this.#pause(tries);
      return isBehind;
    };
    const { newId, clock } = this.#ports;
    const append = async () => {
      const state = (await this.state(threadId)) ?? { seq: 0, head: { born: newId(), latest: [] } };
      const addition = await decide(state);
      if (addition === undefined) return;
      const isNew = ({ id }: { readonly id: string }) => !this.isKnown(state.head, id);
      const missing = Array.from(blocks).flatMap(([id, made]) => (isNew({ id }) ? made : []));
      const before = missing.filter(isNew);
      const all = [...before, ...addition.records];
      const isOne = before.length === 0 || appendGroups(all, itself).length === 1;
      const stamped = (head: ThreadHead) => ({ ...head, updated_at: isoTime(clock.now()) });
      let { seq } = state;
      for (const group of isOne ? [] : appendGroups(before, itself)) {
        const options = { expectedSeq: seq, head: stamped(state.head) };
        // What is stored already may be forgotten: such a group stays where it is.
        seq = Math.max(seq, await this.logs.append(threadId, group, options));
        this.remember(
          state.head,
          group.map(({ id }) => id),
        );
      }
      const options = { expectedSeq: seq, head: stamped(addition.head) };
      await this.logs.append(threadId, isOne ? all : addition.records, options);
      this.remember(state.head, blocks.keys());
    };
    await this.#mutex.run(threadId, () => update(append, isOvertaken));
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

const itself = (record: LogRecord) => record;
