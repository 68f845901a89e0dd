// What LangGraph says of checkpoints, as far as it is used here, so that nothing of it has to be installed for our types; what
// its configuration names; and its serialiser.
import { aText, checkArgument, misconfigured } from "../../core/options.ts";
import { checkKey } from "../../core/storage/key.ts";
import { logLimits } from "../../core/storage/log-store.ts";

export interface Config {
  // biome-ignore lint/suspicious/noExplicitAny: as LangGraph has it.
  readonly configurable?: Record<string, any>;
}

export type ChannelVersions = Record<string, number | string>;

export interface Checkpoint {
  v: number;
  id: string;
  ts: string;
  channel_values: Record<string, unknown>;
  channel_versions: ChannelVersions;
  versions_seen: Record<string, ChannelVersions>;
}

export interface CheckpointMetadata {
  source: "input" | "loop" | "update" | "fork";
  step: number;
  parents: Record<string, string>;
}

/** One write that waits for the next checkpoint. */
export type PendingWrite = [taskId: string, channel: string, value: unknown];

export interface CheckpointTuple {
  config: Config;
  checkpoint: Checkpoint;
  metadata?: CheckpointMetadata;
  parentConfig?: Config;
  pendingWrites?: PendingWrite[];
}

export interface ListOptions {
  limit?: number | undefined;
  before?: Config | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: as LangGraph has it.
  filter?: Record<string, any> | undefined;
}

/** What was written to a channel on the way to a checkpoint, behind the last value of it that was stored. */
export interface DeltaChannelHistory {
  writes: PendingWrite[];
  seed?: unknown;
}

/** Makes bytes of values. */
export interface Serializer {
  dumpsTyped(value: unknown): Promise<[type: string, bytes: Uint8Array]>;
  // biome-ignore lint/suspicious/noExplicitAny: as LangGraph has it.
  loadsTyped(type: string, bytes: Uint8Array | string): Promise<any>;
}

/** The channel of what tasks send. */
export const tasksChannel = "__pregel_tasks";

/** Writes to these channels have one place each, whatever their position. Source: `WRITES_IDX_MAP`. */
export const specialIndexes: ReadonlyMap<string, number> = new Map([
  ["__error__", -1],
  ["__scheduled__", -2],
  ["__interrupt__", -3],
  ["__resume__", -4],
]);

/** The thread that a configuration names. @throws ThroughlineError `THROUGHLINE_INVALID`, as those below do. */
export function threadOf(config: Config): string {
  const id: unknown = config?.configurable?.["thread_id"];
  checkThread(id);
  return id;
}

export function checkThread(id: unknown): asserts id is string {
  checkKey(id, "configurable.thread_id", logLimits.keyBytes);
}

export function namespaceOf(config: Config): string {
  const ns: unknown = config.configurable?.["checkpoint_ns"] ?? "";
  checkArgument(ns, "configurable.checkpoint_ns", aText);
  return ns as string;
}

/** @returns `undefined` where none is named. */
export function checkpointOf({ configurable }: Config): string | undefined {
  const id: unknown = configurable?.["checkpoint_id"] || configurable?.["thread_ts"] || undefined;
  if (id !== undefined) checkArgument(id, "configurable.checkpoint_id", aText);
  return id as string | undefined;
}

let loading: Promise<Serializer> | undefined;
let loaded: Serializer | undefined;

/** LangGraph's own serialiser, loaded when it is first used: a program that has a graph has it already. */
export const langGraphSerializer: Serializer = {
  // Once it is loaded, as by `getTuple` at the start of each run, a value is read before this returns.
  dumpsTyped: (value) => loaded?.dumpsTyped(value) ?? load().then((own) => own.dumpsTyped(value)),
  loadsTyped: async (type, bytes) => (await load()).loadsTyped(type, bytes),
};

/** Loads it, so that values are read at once from then on. */
export function load(): Promise<Serializer> {
  loading ??= import("@langchain/langgraph-checkpoint").then(
    ({ MemorySaver }) => {
      loaded = new MemorySaver().serde;
      return loaded;
    },
    (cause: unknown) => {
      loading = undefined;
      const packages = "@langchain/langgraph-checkpoint @langchain/core";
      throw misconfigured(`LangGraph's checkpoints need packages: npm install ${packages}`, cause);
    },
  );
  return loading;
}
