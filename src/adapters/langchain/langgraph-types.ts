// What LangGraph says of checkpoints, as far as it is used here: so nothing of it has to be installed for our types.

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
