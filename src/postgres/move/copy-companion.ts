import { createHash } from "node:crypto";
import { movesKey, movesOf } from "../../core/chat/move-under-way.ts";
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
import type { DocumentStore } from "../../core/storage/document-store.ts";
import type { FileStore } from "../../core/storage/file-store.ts";
import { companionLease, type Lease } from "../../core/storage/leases.ts";
import {
  type AppendOptions,
  type LogRecord,
  type LogStore,
  type StoredRecord,
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
  /** Records that this call stored; less than `records` when an earlier one had begun. */
  readonly copied: number;
}

/** Logs that are copied at once: most of the time of each is waiting. */
const logsAtOnce = 8;

/** How long another copy is waited for, in milliseconds: the lease of one that was killed lasts 5 s. */
const longestWaitMs = 7_000;

/**
 * Copies a companion from one storage into another, which must be empty: the marks of what was forgotten,
 * chats and their attachments, runs, moods and documents. Records keep their ids and numbers, erased ones stay
 * erased, heads and documents are equal. Each copy is read back and compared before this resolves.
 *
 * A call that was killed is called again, and continues where it stopped: until a copy is whole, its target holds
 * nothing else. The source is only read, and nothing may be written to it during the copy: it is held, if it can
 * be. Eight logs are copied at once, and each has one batch of about 2 MiB in memory.
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
  const of = await begin(from, to, options);
  const files = await copyFiles(from, to, options);
  const { records, copied } = await copyLogs(from, to, options, of);
  const documents = await copyDocuments(from, to, options);
  const report = { logs: of, records, documents, files, copied };
  await note(to, options, "done", { ...report });
  return report;
}

/**
 * Notes in the target that it holds a part. Removes what an earlier copy brought and the source has no more.
 *
 * @returns how many logs the source has.
 */
async function begin(from: Storage, to: Storage, options: CopyOptions): Promise<number> {
  const sourceLogs = new Set<string>();
  for await (const { place, row } of everyLog(from))
    sourceLogs.add(nameOf(place.collection, row.key));
  const isBegun = (await movesOf(to).tail(movesKey, 0))?.head["state"] === "begun";
  for await (const { place, logs, row } of everyLog(to)) {
    options.signal?.throwIfAborted();
    if (!isBegun) throw isNotEmpty(placeName(place.collection, row.key));
    if (!sourceLogs.has(nameOf(place.collection, row.key))) await logs.delete(row.key);
  }
  if (!isBegun) {
    for (const collection of documentPlaces) {
      const [key] = await to.documents(collection).keys();
      if (key !== undefined) throw isNotEmpty(placeName(collection, key));
    }
    for (const collection of filePlaces) {
      for await (const key of to.files(collection).keys())
        throw isNotEmpty(`the files of ${placeName(collection, key)}`);
    }
    await note(to, options, "begun");
  }
  return sourceLogs.size;
}

const nameOf = (collection: string, key: string) => JSON.stringify([collection, key]);

function isNotEmpty(name: string): ThroughlineError {
  return conflict(`the target is not empty: it holds ${name}. Nothing was written`);
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

async function copyLogs(from: Storage, to: Storage, options: CopyOptions, of: number) {
  const progress = { logs: 0, of, records: 0 };
  let records = 0;
  const tell = (stored: number) => {
    progress.records += stored;
    options.onProgress?.({ ...progress });
  };
  await concurrently(everyLog(from), logsAtOnce, async (found) => {
    options.signal?.throwIfAborted();
    progress.logs++;
    tell(0);
    const count = await copyLog(found, to, options, tell);
    records += count;
  });
  return { records, copied: progress.records };
}

/**
 * Copies a log: records under the same ids and numbers, and with the last of them the head. Continues where an
 * earlier copy ended, if that is the beginning of the source's log; else it copies the log again. Then it reads
 * the copy, and compares.
 *
 * @param onStored called after each append, with the number of its records.
 * @returns how many records the log has: none if damage took all of it, and is marked.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something was written to one of them while it was copied.
 * @throws ThroughlineError `THROUGHLINE_CORRUPT`: a record cannot be read, and damage is refused.
 */
async function copyLog(
  { place: { collection, projection }, logs: source, row: { key } }: FoundLog,
  to: Storage,
  { damaged = "refuse", signal }: CopyOptions,
  onStored: (count: number) => void,
): Promise<number> {
  const target = to.logs(collection, projection);
  const name = placeName(collection, key);
  const end = await source.tail(key, 0);
  if (end === undefined) return 0;
  const isNothing = end.seq === 0; // there is no number at which a mark could stand
  if (isNothing && end.damaged && damaged === "refuse") {
    throw corrupt(`${name} is damaged: nothing of it can be read`);
  }
  const given = (until: number) => recordsOf(source, key, { name, until, damaged });
  let seq = (await target.tail(key, 0))?.seq ?? 0;
  const isBegun = seq <= end.seq && (await areSame(target.read(key), given(seq)));
  if (!isBegun || isNothing) {
    await target.delete(key);
    seq = 0;
  }
  if (isNothing) return 0;
  for await (const { records, isLast } of batchesOf(after(seq, given(end.seq)))) {
    signal?.throwIfAborted();
    const options = { expectedSeq: seq, head: isLast ? end.head : undefined };
    seq = await append(target, key, records, options);
    onStored(records.length);
  }
  const stateOf = async (logs: LogStore) => {
    const tail = await logs.tail(key, 0);
    return JSON.stringify([tail?.seq, tail?.head]);
  };
  const state = JSON.stringify([end.seq, end.head]);
  if ((await stateOf(target)) !== state) await target.erase(key, [], { head: end.head });
  const states = [await stateOf(source), await stateOf(target)];
  const isSame = states.every((each) => each === state);
  if (isSame && (await areSame(target.read(key), given(end.seq)))) return end.seq;
  throw isNotSame(name);
}

function isNotSame(name: string): ThroughlineError {
  return conflict(
    `${name} is not the same in both: something was written during the copy. Run it again`,
  );
}

async function areSame(...all: readonly AsyncIterable<StoredRecord>[]): Promise<boolean> {
  const digests = all.map(async (records) => {
    const digest = createHash("sha256");
    for await (const record of records) digest.update(`${JSON.stringify(record)}\n`);
    return digest.digest("hex");
  });
  return new Set(await Promise.all(digests)).size === 1;
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

/** What follows the record of a number, without the numbers. */
async function* after(
  number: number,
  records: AsyncIterable<StoredRecord>,
): AsyncGenerator<LogRecord> {
  for await (const { seq, ...record } of records) if (seq > number) yield record;
}

/** Reads the records of a log without a gap: a mark stands where one was lost, so that all other numbers stay. */
async function* recordsOf(
  logs: LogStore,
  key: string,
  options: { readonly name: string; readonly until: number; readonly damaged: OnDamage },
): AsyncGenerator<StoredRecord> {
  const { name, until, damaged } = options;
  let next = 1;
  const fill = function* (end: number) {
    if (next < end && damaged === "refuse") {
      throw corrupt(`${name} is damaged: record ${next} cannot be read`);
    }
    for (; next < end; next++) {
      yield { id: `lost:${next}`, seq: next, _type: "metadata", kind: "lost" };
    }
  };
  for await (const record of logs.read(key)) {
    if (record.seq > until) break;
    yield* fill(record.seq);
    yield record;
    next = record.seq + 1;
  }
  yield* fill(until + 1);
}

/** Makes the files of every chat the same, one in memory at a time. @returns how many there are. */
async function copyFiles(
  from: Storage,
  to: Storage,
  { damaged, signal }: CopyOptions,
): Promise<number> {
  let count = 0;
  for (const collection of filePlaces) {
    const [source, target] = [from.files(collection), to.files(collection)];
    const keys = new Set(await Array.fromAsync(source.keys()));
    for await (const key of target.keys()) keys.add(key);
    for (const key of keys) {
      const [given, own] = [await hashesIn(source, key), await hashesIn(target, key)];
      const others = own.filter((hash) => !given.includes(hash));
      if (others.length > 0) await target.delete(key, others);
      for (const hash of given) {
        signal?.throwIfAborted();
        if (!own.includes(hash)) {
          const mayBeDamaged = unless("THROUGHLINE_CORRUPT");
          const reading = source.get(key, hash);
          const bytes = await (damaged === "mark" ? reading.catch(mayBeDamaged) : reading);
          if (bytes === undefined) continue;
          await target.put(key, bytes); // which checks that the bytes have their hash
        }
        count++;
      }
    }
  }
  return count;
}

async function hashesIn(files: FileStore, key: string): Promise<readonly string[]> {
  return (await files.list(key)).map(({ sha256 }) => sha256);
}

/** Makes the documents the same. @returns how many there are. */
async function copyDocuments(from: Storage, to: Storage, { signal }: CopyOptions): Promise<number> {
  let count = 0;
  for (const collection of documentPlaces) {
    const [source, target] = [from.documents(collection), to.documents(collection)];
    const textIn = async (documents: DocumentStore, key: string) =>
      JSON.stringify((await documents.read(key))?.value);
    for (const key of new Set([...(await source.keys()), ...(await target.keys())])) {
      signal?.throwIfAborted();
      const given = (await source.read(key))?.value;
      const own = await target.read(key);
      if (given === undefined) await target.delete(key);
      else if (JSON.stringify(own?.value) !== JSON.stringify(given)) {
        await target.write(key, given, { expectedRevision: own?.revision ?? 0 });
      }
      // The one before it, perhaps of a copy that was killed here, may hold words forgotten since.
      await target.forgetCopies(key);
      const text = JSON.stringify(given);
      const texts = [await textIn(source, key), await textIn(target, key)];
      if (texts.some((each) => each !== text)) throw isNotSame(placeName(collection, key));
      if (given !== undefined) count++;
    }
  }
  return count;
}
