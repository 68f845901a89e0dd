// Where the checkpoints of a thread are in its log, and what waits for each.
import type { JsonObject } from "../../core/json.ts";
import type { LogRecord, StoredRecord } from "../../core/storage/log-store.ts";
import { type BlockValue, hashOf } from "./blocks.ts";
import { type Write, writesIn, writesRecord } from "./pending-writes.ts";
import type { Addition, NamespaceState, Thread, ThreadHead } from "./thread-log.ts";

/** The value of a channel; with its version, so that later checkpoints name it and need not serialise it again. */
export type ChannelValue = BlockValue & { readonly version?: number | string | undefined };

/** A checkpoint as it is stored. */
interface CheckpointFields extends JsonObject {
  readonly ns: string;
  readonly checkpoint_id: string;
  readonly parent?: string | undefined;
  /** Without the values of its channels. */
  readonly checkpoint: BlockValue;
  readonly metadata: BlockValue;
  readonly values: Readonly<Record<string, ChannelValue>>;
}

export type CheckpointRecord = CheckpointFields & { readonly id: string };

/** Namespaces of which the head of a log says the newest checkpoint. Subgraphs make new ones for each task. */
const maxLatest = 32;
const recordsPerPage = 200;
/** Records of writes that are looked for at once, and each time twice as many. */
const firstWrites = 8;
/** Many more writes in one record would be more keys than it may have. */
const writesPerRecord = 500;

/** The newest record of this checkpoint: the engine may store one twice. */
export async function findCheckpoint(
  thread: Thread,
  ns: string,
  id: string,
): Promise<CheckpointRecord | undefined> {
  for (let n = 1; ; n++) {
    const [one, next] = [recordId(ns, id, n), recordId(ns, id, n + 1)];
    const found = await thread.logs.findAll(thread.id, [one, next]);
    if (!found.has(next)) return found.get(one) as CheckpointRecord | undefined;
  }
}

/** The checkpoint with the greatest id in a namespace. */
export async function latestCheckpoint(
  thread: Thread,
  ns: string,
): Promise<CheckpointRecord | undefined> {
  const known = stateOf(thread.head, ns);
  if (known !== undefined) return findCheckpoint(thread, ns, known[1]);
  if (!(await isKnown(thread, ns))) return undefined;
  for await (const record of listCheckpoints(thread, ns)) return record;
  return undefined;
}

/** The checkpoints of a namespace, or of all, those with the greatest ids first. */
export async function* listCheckpoints(
  thread: Thread,
  ns: string | undefined,
): AsyncGenerator<CheckpointRecord, void, undefined> {
  const isOrdered = ns !== undefined && stateOf(thread.head, ns)?.[2] === true;
  const newest = newestFirst(thread, ns);
  if (isOrdered) return yield* newest;
  const all = await Array.fromAsync(newest);
  yield* all.sort((a, b) => compare(b.checkpoint_id, a.checkpoint_id));
}

/** As they were stored, the newest first; of one that was stored twice only the newer. */
async function* newestFirst(
  { id, logs }: Thread,
  ns: string | undefined,
): AsyncGenerator<CheckpointRecord, void, undefined> {
  const seen = new Set<string>();
  for (let before = Number.MAX_SAFE_INTEGER; before > 1; ) {
    const page = await logs.page(id, { before, limit: recordsPerPage });
    for (const record of page.toReversed()) {
      const checkpoint = checkpointIn(record);
      if (checkpoint === undefined || (ns ?? checkpoint.ns) !== checkpoint.ns) continue;
      const first = recordId(checkpoint.ns, checkpoint.checkpoint_id);
      if (seen.has(first)) continue;
      seen.add(first);
      yield checkpoint;
    }
    before = page[0]?.seq ?? 1;
  }
}

/**
 * The records that store a checkpoint, and the head with it.
 *
 * @returns nothing if it is stored as it is.
 */
export async function checkpointAdded(
  thread: Thread,
  given: CheckpointFields,
): Promise<Addition | undefined> {
  const { head } = thread;
  const { ns, checkpoint_id: id } = given;
  const known = stateOf(head, ns);
  if (known?.[2] === true && compare(id, known[1]) > 0) {
    const record = { ...given, id: recordId(ns, id) };
    return { records: [record], head: withState(head, [hashOf(ns), id, true]) };
  }
  const before = await findCheckpoint(thread, ns, id);
  const record = { ...given, id: before === undefined ? recordId(ns, id) : after(before.id) };
  if (before !== undefined && isSame(before, record)) return undefined;
  const isNew = known === undefined && !(await isKnown(thread, ns));
  const marker: readonly LogRecord[] = isNew ? [{ id: markerId(ns), ns }] : [];
  const latest = isNew ? undefined : await latestCheckpoint(thread, ns);
  const greatest = latest === undefined || compare(id, latest.checkpoint_id) > 0;
  const state: NamespaceState = [
    hashOf(ns),
    greatest ? id : latest.checkpoint_id,
    isNew || (known?.[2] === true && id === known[1]),
  ];
  return { records: [...marker, record], head: withState(head, state) };
}

/** The writes that wait for a checkpoint, stored before it or after it, in the order in which they count. */
export async function writesOf(
  thread: Thread,
  ns: string,
  id: string,
): Promise<{ readonly writes: readonly Write[]; readonly count: number }> {
  const records: StoredRecord[] = [];
  for (let n = 0, count = firstWrites; ; n += count, count *= 2) {
    const ids = Array.from({ length: count }, (_, i) => writesId(ns, id, n + i));
    const found = await thread.logs.findAll(thread.id, ids);
    records.push(...ids.flatMap((each) => found.get(each) ?? []));
    if (found.size < count) return { writes: writesIn(records), count: records.length };
  }
}

/** The records that store these writes behind `count` others. */
export function writesAdded(
  ns: string,
  id: string,
  writes: readonly Write[],
  count: number,
): LogRecord[] {
  const records: LogRecord[] = [];
  for (let at = 0; at < writes.length; at += writesPerRecord) {
    const record = writesId(ns, id, count + records.length);
    records.push(writesRecord(record, writes.slice(at, at + writesPerRecord)));
  }
  return records;
}

async function isKnown({ id, logs }: Thread, ns: string): Promise<boolean> {
  return (await logs.find(id, markerId(ns))) !== undefined;
}

const markerId = (ns: string) => `n:${hashOf(ns)}`;
const writesId = (ns: string, id: string, n: number) => `w:${hashOf(ns, id)}:${n}`;

function recordId(ns: string, id: string, n = 1): string {
  return n === 1 ? `c:${hashOf(ns, id)}` : `c:${hashOf(ns, id)}~${n}`;
}

/** The id of the record that takes the place of this one. */
function after(id: string): string {
  const [first = "", n = "1"] = id.split("~");
  return `${first}~${Number(n) + 1}`;
}

function isSame(a: CheckpointRecord, b: CheckpointRecord): boolean {
  const textOf = ({ checkpoint, metadata, values, parent }: CheckpointRecord) =>
    JSON.stringify([checkpoint, metadata, Object.entries(values).sort(), parent]);
  return textOf(a) === textOf(b);
}

function checkpointIn(record: StoredRecord): CheckpointRecord | undefined {
  return record.id.startsWith("c:") ? (record as unknown as CheckpointRecord) : undefined;
}

function stateOf({ latest }: ThreadHead, ns: string): NamespaceState | undefined {
  const hash = hashOf(ns);
  return latest.find(([namespace]) => namespace === hash);
}

function withState(head: ThreadHead, state: NamespaceState): ThreadHead {
  const others = head.latest.filter(([namespace]) => namespace !== state[0]);
  return { ...head, latest: [state, ...others].slice(0, maxLatest) };
}

/** As texts are sorted by default: checkpoint ids grow with time. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
