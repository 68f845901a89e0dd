import { isDeepStrictEqual } from "node:util";
import { movesKey, movesOf, moveUnderWay } from "../../core/chat/move-under-way.ts";
import { type Clock, isoTime, systemClock } from "../../core/clock.ts";
import { concurrently } from "../../core/concurrently.ts";
import {
  conflict,
  corrupt,
  isThroughlineError,
  ThroughlineError,
  unless,
} from "../../core/errors.ts";
import { type NewId, randomId } from "../../core/ids.ts";
import type { JsonObject } from "../../core/json.ts";
import { batchesOf } from "../../core/storage/batch.ts";
import { companionAnswers } from "../../core/storage/cluster.ts";
import { companionLease, type Lease } from "../../core/storage/leases.ts";
import {
  type AppendOptions,
  type LogRecord,
  type LogStore,
  update,
} from "../../core/storage/log-store.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { systemTimers, type Timers } from "../../core/timers.ts";
import { documentPlaces, everyLog, type FoundLog, filePlaces, placeName } from "./places.ts";

/** What to do about records of the source that damage took. */
type OnDamage = "refuse" | "mark";

export interface CopyProgress {
  /** Logs that were begun. */
  readonly logs: number;
  /** Logs of the source. */
  readonly of: number;
  /** Records that this call has stored so far. */
  readonly records: number;
}

interface CopyOptions {
  /**
   * What to do about records of the source that damage took: refuse, or put a mark in the place of
   * each, so that all other numbers stay. A damaged attachment is left out then.
   * @default "refuse"
   */
  readonly damaged?: OnDamage;
  /** Ends it after the append under way. The call then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: CopyProgress) => void;
  readonly clock?: Clock;
  /** @default systemTimers */
  readonly timers?: Timers;
  readonly newId?: NewId;
}

type Side = "source" | "target";

export interface CopyReport {
  readonly logs: number;
  readonly records: number;
  readonly documents: number;
  /** Attachments of chats. */
  readonly files: number;
}

/** Logs that are copied at once: most of the time of each is waiting. */
const logsAtOnce = 8;

/** How long another copy is waited for, in milliseconds: the lease of one that was killed lasts 5 s. */
const longestWaitMs = 7_000;

/**
 * Copies a companion from one storage into another, which must be empty: the marks of what was forgotten,
 * chats and their attachments, runs, moods and documents. Records keep their ids and numbers, erased ones stay
 * erased, heads and documents are equal.
 *
 * A call that was killed is called again, and starts over: until a copy is whole, its target holds nothing else.
 * The source is only read, and nothing may be written to it during the copy: it is held, if it can be. Eight logs
 * are copied at once, and each has one batch of about 2 MiB in memory.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: the target is not empty, and nothing was written; or something
 *   was written to one of them during the copy.
 * @throws ThroughlineError `THROUGHLINE_LOCKED`: a server runs one of them, or another copy does, 7 s later still.
 * @throws ThroughlineError `THROUGHLINE_CORRUPT`: the source is damaged; see `damaged`.
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE` and the other codes of `LogStore.append`.
 */
export async function copyCompanion(
  from: Storage,
  to: Storage,
  options: CopyOptions = {},
): Promise<CopyReport> {
  const held: Lease[] = [];
  try {
    held.push(await hold(from, "source", options));
    held.push(await hold(to, "target", options));
    const signals = [...held.map(({ lost }) => lost), ...(options.signal ? [options.signal] : [])];
    return await copy(from, to, { ...options, signal: AbortSignal.any(signals) });
  } finally {
    for (const lease of held) await lease.release();
  }
}

async function hold(
  { leases, cluster }: Storage,
  which: Side,
  { signal, timers = systemTimers }: CopyOptions,
): Promise<Lease> {
  const refusal = new ThroughlineError(
    `a server runs this companion on the ${which}: stop it first`,
    { code: "THROUGHLINE_LOCKED" },
  );
  const late = new AbortController();
  const cancel = timers.after(longestWaitMs, () => late.abort(refusal), { holdsProcess: true });
  const signals = signal === undefined ? [late.signal] : [late.signal, signal];
  try {
    const lease = await leases.acquire(companionLease, { signal: AbortSignal.any(signals) });
    if (!cluster.isShared || !(await companionAnswers(cluster, timers))) return lease;
    await lease.release();
    throw refusal;
  } finally {
    cancel();
  }
}

async function copy(from: Storage, to: Storage, options: CopyOptions): Promise<CopyReport> {
  await begin(to, options);
  const files = await copyFiles(from, to, options);
  const { logs, records } = await copyLogs(from, to, options);
  const documents = await copyDocuments(from, to, options);
  const report = { logs, records, documents, files };
  await note(to, options, "done", { ...report });
  return report;
}

/** Notes in the target, which is empty or holds a part, that it holds a part. Removes that part. */
async function begin(to: Storage, options: CopyOptions): Promise<void> {
  const isBegun = (await moveUnderWay(to)) !== undefined;
  const clear = async (name: string, remove: () => Promise<unknown>) => {
    options.signal?.throwIfAborted();
    if (!isBegun) throw conflict(`the target is not empty: it holds ${name}. Nothing was written`);
    await remove();
  };
  for await (const { place, logs, row } of everyLog(to)) {
    await clear(placeName(place.collection, row.key), () => logs.delete(row.key));
  }
  for (const collection of documentPlaces) {
    const documents = to.documents(collection);
    for (const key of await documents.keys()) {
      await clear(placeName(collection, key), () => documents.delete(key));
    }
  }
  for (const collection of filePlaces) {
    const files = to.files(collection);
    for await (const key of files.keys()) {
      await clear(`the files of ${placeName(collection, key)}`, () => files.delete(key));
    }
  }
  await note(to, options, "begun");
}

/** Adds to the log of moves, which no copy takes along. Its head says whether the storage is whole. */
async function note(
  to: Storage,
  { clock = systemClock, newId = randomId }: CopyOptions,
  state: "begun" | "done",
  totals: JsonObject = {},
): Promise<void> {
  const at = isoTime(clock.now());
  const record = { id: newId(), kind: `move_${state}`, at, ...totals };
  await append(movesOf(to), movesKey, [record], { head: { state, at } });
}

async function copyLogs(from: Storage, to: Storage, options: CopyOptions) {
  const progress = { logs: 0, of: 0, records: 0 };
  for await (const _ of everyLog(from)) progress.of++;
  const tell = (stored: number) => {
    progress.records += stored;
    options.onProgress?.({ ...progress });
  };
  await concurrently(everyLog(from), logsAtOnce, async (found) => {
    options.signal?.throwIfAborted();
    progress.logs++;
    tell(0);
    await copyLog(found, to, options, tell);
  });
  return progress;
}

/**
 * Copies a log: records under the same ids and numbers, and with the last of them the head. Then it compares where
 * both end, and their heads.
 *
 * @param onStored called after each append, with the number of its records.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something was written to one of them while it was copied.
 * @throws ThroughlineError `THROUGHLINE_CORRUPT`: a record cannot be read, and damage is refused.
 */
async function copyLog(
  { place: { collection, projection }, logs: source, row: { key } }: FoundLog,
  to: Storage,
  { damaged = "refuse", signal }: CopyOptions,
  onStored: (count: number) => void,
): Promise<void> {
  const target = to.logs(collection, projection);
  const name = placeName(collection, key);
  const end = await source.tail(key, 0);
  if (end === undefined) return;
  if (end.seq === 0) {
    // There is no number at which a mark could stand.
    if (damaged === "mark" || !end.damaged) return;
    throw corrupt(`${name} is damaged: nothing of it can be read`);
  }
  let seq = 0;
  const given = recordsOf(source, key, { name, until: end.seq, damaged });
  for await (const { records, isLast } of batchesOf(given)) {
    signal?.throwIfAborted();
    const options = { expectedSeq: seq, head: isLast ? end.head : undefined };
    seq = await append(target, key, records, options);
    onStored(records.length);
  }
  for (const logs of [source, target]) {
    const tail = await logs.tail(key, 0);
    if (tail?.seq === end.seq && isDeepStrictEqual(tail.head, end.head)) continue;
    throw conflict(`${name} was written to during the copy. Run it again`);
  }
}

/** Repeats an append with an unknown outcome: the ids settle it. */
function append(
  logs: LogStore,
  key: string,
  batch: readonly LogRecord[],
  options: AppendOptions,
): Promise<number> {
  const isUnknown = (error: unknown) => isThroughlineError(error, "THROUGHLINE_OUTCOME_UNKNOWN");
  return update(() => logs.append(key, batch, options), isUnknown);
}

/** Reads the records of a log without a gap: a mark stands where one was lost, so that all other numbers stay. */
async function* recordsOf(
  logs: LogStore,
  key: string,
  options: { readonly name: string; readonly until: number; readonly damaged: OnDamage },
): AsyncGenerator<LogRecord> {
  const { name, until, damaged } = options;
  let next = 1;
  const fill = function* (end: number) {
    if (next < end && damaged === "refuse") {
      throw corrupt(`${name} is damaged: record ${next} cannot be read`);
    }
    for (; next < end; next++) yield { id: `lost:${next}`, _type: "metadata", kind: "lost" };
  };
  for await (const { seq, ...record } of logs.read(key)) {
    if (seq > until) break;
    yield* fill(seq);
    yield record;
    next = seq + 1;
  }
  yield* fill(until + 1);
}

/** Copies the files of every chat, one in memory at a time. @returns how many there are. */
async function copyFiles(
  from: Storage,
  to: Storage,
  { damaged, signal }: CopyOptions,
): Promise<number> {
  let count = 0;
  for (const collection of filePlaces) {
    const source = from.files(collection);
    for await (const key of source.keys()) {
      for (const { sha256 } of await source.list(key)) {
        signal?.throwIfAborted();
        const reading = source.get(key, sha256);
        const bytes = await (damaged === "mark"
          ? reading.catch(unless("THROUGHLINE_CORRUPT"))
          : reading);
        if (bytes === undefined) continue;
        await to.files(collection).put(key, bytes); // which checks that the bytes have their hash
        count++;
      }
    }
  }
  return count;
}

/** @returns how many documents there are. */
async function copyDocuments(from: Storage, to: Storage, { signal }: CopyOptions): Promise<number> {
  let count = 0;
  for (const collection of documentPlaces) {
    const source = from.documents(collection);
    for (const key of await source.keys()) {
      signal?.throwIfAborted();
      const given = await source.read(key);
      if (given === undefined) continue;
      await to.documents(collection).write(key, given.value, { expectedRevision: 0 });
      count++;
    }
  }
  return count;
}
