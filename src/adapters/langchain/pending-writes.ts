// The writes of a checkpoint that wait for the next one, as they are stored and in the order in which they count.
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { StoredRecord } from "../../core/storage/log-store.ts";
import type { BlockValue } from "./blocks.ts";
import { specialIndexes } from "./langgraph.ts";

/** One write of a task. */
export interface Write {
  readonly taskId: string;
  readonly taskPath: string;
  readonly channel: string;
  /** Its place among the writes of the task; negative for errors, interrupts and the like. */
  readonly index: number;
  readonly value: BlockValue;
}

/** The place of a write of a task: a write to one of the special channels has always the same. */
export function writeIndex(channel: string, position: number): number {
  return specialIndexes.get(channel) ?? position;
}

export function writesRecord(id: string, writes: readonly Write[]): JsonObject & { id: string } {
  const [first] = writes;
  return {
    id,
    task_id: first?.taskId,
    task_path: first?.taskPath,
    writes: writes.map(({ channel, index, value }) => ({ channel, index, value })),
  };
}

/**
 * The writes that count, in the order in which the engine applies them: of those with one task and place the last,
 * which only errors, interrupts and the like have.
 *
 * @param records in the order in which they were stored.
 */
export function writesIn(records: Iterable<StoredRecord>): readonly Write[] {
  const writes = new Map<string, Write>();
  for (const record of records) {
    const { task_id: taskId, task_path: taskPath } = record;
    for (const each of Array.isArray(record["writes"]) ? record["writes"] : []) {
      if (!isJsonObject(each)) continue;
      const index = Number(each["index"]);
      writes.set(placeOf(String(taskId), index), {
        taskId: String(taskId),
        taskPath: String(taskPath),
        channel: String(each["channel"]),
        index,
        value: each["value"] as BlockValue,
      });
    }
  }
  return [...writes.values()].sort(compareWrites);
}

/**
 * What of these writes has to be stored, where those before are stored. Of writes with one task and place the first
 * counts; of errors, interrupts and the like the last.
 */
export function newWrites(given: readonly Write[], before: readonly Write[]): readonly Write[] {
  const known = new Map(before.map((write) => [placeOf(write.taskId, write.index), write]));
  return given.filter(({ taskId, index, channel, value }) => {
    const stored = known.get(placeOf(taskId, index));
    if (stored === undefined) return true;
    if (index >= 0) return false;
    return stored.channel !== channel || JSON.stringify(stored.value) !== JSON.stringify(value);
  });
}

const placeOf = (taskId: string, index: number) => `${index}:${taskId}`;

/** By path, task and index; texts by code points, as their bytes are. Source: `writesSortKey` of langgraph-checkpoint 1.2. */
function compareWrites(a: Write, b: Write): number {
  const compare = (one: string, other: string) =>
    Buffer.compare(Buffer.from(one), Buffer.from(other));
  return compare(a.taskPath, b.taskPath) || compare(a.taskId, b.taskId) || a.index - b.index;
}
