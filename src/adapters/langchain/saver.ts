// LangGraph's checkpointer: the entry point `throughline/langgraph`.
import { isDeepStrictEqual } from "node:util";
import { isThroughlineError } from "../../core/errors.ts";
import {
  aList,
  aName,
  anObject,
  aText,
  aThroughline,
  checkArgument,
  maybe,
  type Options,
  resolveOptions,
} from "../../core/options.ts";
import type { Throughline } from "../../core/throughline.ts";
import { type BlockValue, dumpBlocks, loadBlocks, type MadeBlocks } from "./blocks.ts";
import {
  type ChannelValue,
  type CheckpointRecord,
  checkpointAdded,
  findCheckpoint,
  latestCheckpoint,
  listCheckpoints,
  writesAdded,
  writesOf,
} from "./checkpoints.ts";
import {
  type ChannelVersions,
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointTuple,
  type Config,
  checkpointOf,
  checkThread,
  type DeltaChannelHistory,
  type ListOptions,
  langGraphSerializer,
  load,
  namespaceOf,
  type PendingWrite,
  type Serializer,
  tasksChannel,
  threadOf,
} from "./langgraph.ts";
import { newWrites, type Write, writeIndex } from "./pending-writes.ts";
import { remember, type Thread, ThreadLogs, withParts } from "./thread-log.ts";
import { Transcript } from "./transcript.ts";

export type {
  Checkpoint,
  CheckpointMetadata,
  CheckpointTuple,
  Config,
  DeltaChannelHistory,
  ListOptions,
  PendingWrite,
  Serializer,
};

export interface ThroughlineSaverOptions {
  /** @default LangGraph's own serialiser */
  readonly serde?: Serializer | undefined;
  /**
   * The channel whose messages are also added to the chat of the thread's id, by their ids: then the page, search
   * and other models see them. Those of subgraphs are not. The chat is complete when `put` resolves; the next `put` makes up for a crash
   * between the two. Messages that are taken back, erased, cleared or reset there are left out of checkpoints.
   * @default none
   */
  readonly transcript?: string | undefined;
}

const options = {
  serde: maybe(),
  transcript: maybe(aName),
} satisfies Options<ThroughlineSaverOptions>;

/**
 * A checkpointer for LangGraph: threads survive a crash, and several processes may run them. Every thread is a
 * log of its own, under the thread's id, in the home or the database of a Throughline; forgetting the chat of
 * that id forgets the thread.
 *
 * What was put is stored as the storage's `durability` says when `put` or `putWrites` resolves, whole or not at
 * all. Putting the same again stores nothing.
 *
 * All methods reject with `THROUGHLINE_INVALID` and the name of the field where the configuration is wrong, and with
 * `THROUGHLINE_UNAVAILABLE` or `THROUGHLINE_OUTCOME_UNKNOWN` where the storage failed: then repeat the call.
 */
export class ThroughlineSaver {
  readonly serde: Serializer;
  readonly #threads: ThreadLogs;
  /** Whether the text of an array is that of its items: known of LangGraph's own serialiser alone. */
  readonly #isDivisible: boolean;

  readonly #transcript: { readonly channel: string; readonly chat: Transcript } | undefined;

  /** @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_CONFIGURATION`: an argument cannot be used. */
  constructor(throughline: Throughline, given: ThroughlineSaverOptions = {}) {
    checkArgument(throughline, "throughline", aThroughline);
    const what = "the options of ThroughlineSaver";
    const { serde, transcript } = resolveOptions(what, given, options);
    this.serde = serde ?? langGraphSerializer;
    this.#isDivisible = serde === undefined;
    this.#threads = new ThreadLogs(throughline);
    this.#transcript =
      transcript === undefined
        ? undefined
        : { channel: transcript, chat: new Transcript(throughline) };
  }

  /** The checkpoint that is named, or the newest of the namespace; `undefined` without a `thread_id`. */
  async getTuple(config: Config): Promise<CheckpointTuple | undefined> {
    checkArgument(config, "config", anObject);
    if (config.configurable?.["thread_id"] === undefined) return undefined;
    const [threadId, ns, id] = [threadOf(config), namespaceOf(config), checkpointOf(config)];
    if (this.#isDivisible) await load();
    const thread = await this.#threads.open(threadId);
    if (thread === undefined) return undefined;
    const record =
      id === undefined ? await latestCheckpoint(thread, ns) : await findCheckpoint(thread, ns, id);
    return record && this.#unlessRemoved(thread, () => this.#tuple(thread, record));
  }

  /** Checkpoints, those with the greatest ids first. Without a `thread_id` those of all threads. */
  async *list(config: Config, options: ListOptions = {}): AsyncGenerator<CheckpointTuple> {
    checkArgument(config, "config", anObject);
    checkArgument(options, "options", anObject);
    const { limit, before, filter } = options;
    const id = checkpointOf(config);
    const end = before === undefined ? undefined : checkpointOf(before);
    const isAny = config.configurable?.["checkpoint_ns"] === undefined;
    const ns = isAny ? undefined : namespaceOf(config);
    const wanted = Object.entries(filter ?? {}).filter(([, value]) => value !== undefined);
    let left = limit ?? Number.POSITIVE_INFINITY;
    const isAll = config.configurable?.["thread_id"] === undefined;
    for (const threadId of isAll ? await this.#threads.all() : [threadOf(config)]) {
      if (left <= 0) return;
      const thread = await this.#threads.open(threadId);
      if (thread === undefined) continue;
      for await (const record of listCheckpoints(thread, ns)) {
        if (end !== undefined && record.checkpoint_id >= end) continue;
        if (id !== undefined && record.checkpoint_id !== id) continue;
        const tuple = await this.#unlessRemoved(thread, () => this.#tuple(thread, record));
        const metadata: object = tuple?.metadata ?? {};
        const has = ([name, value]: [string, unknown]) =>
          isDeepStrictEqual(Reflect.get(metadata, name), value);
        if (tuple === undefined || !wanted.every(has)) continue;
        yield tuple;
        if (--left <= 0) return;
      }
    }
  }

  /** Stores a checkpoint. Stored twice under one id, the newer counts. */
  async put(
    config: Config,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions?: ChannelVersions,
  ): Promise<Config> {
    const [threadId, ns, parentId] = [threadOf(config), namespaceOf(config), checkpointOf(config)];
    checkArgument(checkpoint, "checkpoint", anObject);
    const { channel_values: channels = {}, ...rest } = checkpoint;
    const { id, channel_versions: versions = {} } = checkpoint;
    const isChanged = (channel: string) =>
      newVersions === undefined ||
      Object.hasOwn(newVersions, channel) ||
      !Object.hasOwn(versions, channel);
    const groups = Map.groupBy(Object.entries(channels), ([channel]) => isChanged(channel));
    const [changed, same] = [groups.get(true) ?? [], groups.get(false) ?? []];
    const blocks: MadeBlocks = new Map();
    // What changed is read before anything is waited for: the graph continues, and changes what it gave.
    const [own, about, ...given] = await Promise.all([
      this.#dump(rest, blocks),
      this.#dump(metadata, blocks),
      ...changed.map(async ([channel, each]): Promise<[string, ChannelValue]> => {
        return [channel, { ...(await this.#dump(each, blocks)), version: versions[channel] }];
      }),
    ]);
    await this.#threads.add(threadId, blocks, async (thread) => {
      const parent =
        same.length > 0 && parentId !== undefined
          ? await findCheckpoint(thread, ns, parentId)
          : undefined;
      const before = new Map(Object.entries(parent?.values ?? {}));
      const values = new Map(given);
      for (const [channel, each] of same) {
        const version = versions[channel];
        const known = before.get(channel);
        if (known?.version === version && known !== undefined) {
          values.set(channel, known);
          continue;
        }
        // A copy of a checkpoint is put beside it: its parent does not have what was written in between.
        const made: MadeBlocks = new Map();
        const value = await this.#dump(each, made);
        // A value that was never stored is left out, as the validation suite has it.
        if (known === undefined && !(await areStored(thread, value))) continue;
        for (const [block, records] of made) blocks.set(block, records);
        values.set(channel, { ...value, version });
      }
      return checkpointAdded(thread, {
        ns,
        checkpoint_id: id,
        parent: parentId,
        checkpoint: own,
        metadata: about,
        values: Object.fromEntries(values),
      });
    });
    const { channel = "", chat } = this.#transcript ?? {};
    if (ns === "" && Object.hasOwn(channels, channel) && isChanged(channel))
      await chat?.add(threadId, channels[channel]);
    return { configurable: { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: id } };
  }

  /**
   * Stores what a task wrote for the step after a checkpoint, which may be stored later. Of writes with one task
   * and place the first counts; of errors, interrupts and the like the last.
   */
  async putWrites(
    config: Config,
    writes: readonly (readonly [channel: string, value: unknown])[],
    taskId: string,
    taskPath = "",
  ): Promise<void> {
    const [threadId, ns, id] = [threadOf(config), namespaceOf(config), checkpointOf(config)];
    checkArgument(id, "configurable.checkpoint_id", aText);
    checkArgument(taskId, "taskId", aText);
    const arePairs = (value: unknown) => Array.isArray(value) && value.every(Array.isArray);
    checkArgument(writes, "writes", ["a list of pairs", arePairs]);
    const blocks: MadeBlocks = new Map();
    const given = await Promise.all(
      writes.map(async ([channel, value], position): Promise<Write> => {
        const index = writeIndex(channel, position);
        return { taskId, taskPath, channel, index, value: await this.#dump(value, blocks) };
      }),
    );
    await this.#threads.add(threadId, blocks, async (thread) => {
      const before = await writesOf(thread, ns, id);
      const added = newWrites(given, before.writes);
      if (added.length === 0) return undefined;
      return { head: thread.head, records: writesAdded(ns, id, added, before.count) };
    });
  }

  /** The checkpoint of `getTuple`. */
  async get(config: Config): Promise<Checkpoint | undefined> {
    return (await this.getTuple(config))?.checkpoint;
  }

  /**
   * What was written to channels on the way to a checkpoint, oldest first, from the nearest ancestor that has a
   * value of the channel.
   */
  async getDeltaChannelHistory(of: {
    readonly config: Config;
    readonly channels: readonly string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    checkArgument(of?.channels, "channels", aList);
    const { config, channels } = of;
    const histories = channels.map((channel) => {
      return [channel, { writes: [] } as DeltaChannelHistory] as const;
    });
    let open = histories;
    let at = open.length === 0 ? undefined : (await this.getTuple(config))?.parentConfig;
    while (at !== undefined && open.length > 0) {
      const ancestor = await this.getTuple(at);
      if (ancestor === undefined) break;
      const { checkpoint, pendingWrites = [], parentConfig } = ancestor;
      const { channel_values: values } = checkpoint;
      for (const [channel, history] of open) {
        history.writes.unshift(...pendingWrites.filter(([, name]) => name === channel));
        if (Object.hasOwn(values, channel)) history.seed = values[channel];
      }
      open = open.filter(([channel]) => !Object.hasOwn(values, channel));
      at = parentConfig;
    }
    return Object.fromEntries(histories);
  }

  getNextVersion(current: number | undefined): number {
    return (current ?? 0) + 1;
  }

  /** A configuration that holds it can be written as JSON. */
  toJSON(): string {
    return "[ThroughlineSaver]";
  }

  /** Forgets all checkpoints and writes of a thread. Their bytes are gone when this resolves. */
  async deleteThread(threadId: string): Promise<void> {
    checkThread(threadId);
    await this.#threads.remove(threadId);
  }

  #dump(value: unknown, blocks: MadeBlocks): Promise<BlockValue> {
    return dumpBlocks(this.serde, value, blocks, this.#isDivisible);
  }

  /** Reads something of a thread; nothing if the thread was removed during that. */
  async #unlessRemoved<T>(thread: Thread, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      if (!isThroughlineError(error, "THROUGHLINE_CORRUPT")) throw error;
      const now = await this.#threads.open(thread.id);
      if (now?.head.born === thread.head.born) throw error;
      return undefined;
    }
  }

  async #tuple(thread: Thread, record: CheckpointRecord): Promise<CheckpointTuple> {
    const { ns, checkpoint_id: id, parent, values } = record;
    const { writes } = await writesOf(thread, ns, id);
    const all = [record.checkpoint, record.metadata, ...Object.values(values)];
    const blocks = await blocksOf(thread, [...all, ...writes.map(({ value }) => value)]);
    remember(thread, blocks.keys());
    const load = (value: BlockValue) => loadBlocks(this.serde, value, blocks);
    const checkpoint = (await load(record.checkpoint)) as Checkpoint;
    const channels = Object.entries(values).map(async ([name, each]) => [name, await load(each)]);
    checkpoint.channel_values = Object.fromEntries(await Promise.all(channels));
    if (checkpoint.v < 4 && parent !== undefined) {
      const before = await writesOf(thread, ns, parent);
      await this.#addPendingSends(thread, before.writes, checkpoint);
    }
    const pendingWrites = writes.map(async ({ taskId, channel, value }): Promise<PendingWrite> => {
      return [taskId, channel, await load(value)];
    });
    const configOf = (checkpointId: string) => ({
      configurable: { thread_id: thread.id, checkpoint_ns: ns, checkpoint_id: checkpointId },
    });
    const tuple: CheckpointTuple = {
      config: configOf(id),
      checkpoint,
      metadata: (await load(record.metadata)) as CheckpointMetadata,
      pendingWrites: await Promise.all(pendingWrites),
    };
    if (parent !== undefined) tuple.parentConfig = configOf(parent);
    await this.#transcript?.chat.takeOut(thread.id, tuple);
    return tuple;
  }

  /** Before version 4 a checkpoint had what its parent's tasks had sent as a channel. */
  async #addPendingSends(thread: Thread, writes: readonly Write[], checkpoint: Checkpoint) {
    const sent = writes.filter(({ channel }) => channel === tasksChannel).map(({ value }) => value);
    const blocks = await blocksOf(thread, sent);
    const sends = await Promise.all(sent.map((value) => loadBlocks(this.serde, value, blocks)));
    const versions = Object.values(checkpoint.channel_versions ?? {});
    checkpoint.channel_values[tasksChannel] = sends;
    checkpoint.channel_versions = {
      ...checkpoint.channel_versions,
      [tasksChannel]: versions.reduce(newer, this.getNextVersion(undefined)),
    };
  }
}

const blocksOf = (thread: Thread, values: readonly BlockValue[]) =>
  withParts(thread, [...new Set(values.flatMap(({ blocks }) => blocks))]);

async function areStored(thread: Thread, { blocks }: BlockValue): Promise<boolean> {
  const unknown = new Set(blocks.filter((id) => !thread.known.has(id)));
  if (unknown.size === 0) return true;
  const found = await thread.logs.findAll(thread.id, [...unknown]);
  remember(thread, found.keys());
  return found.size === unknown.size;
}

/** The greater of two versions of channels. */
function newer(a: number | string, b: number | string): number | string {
  if (typeof a === "number" && typeof b === "number") return Math.max(a, b);
  return String(a).localeCompare(String(b)) >= 0 ? a : b;
}
