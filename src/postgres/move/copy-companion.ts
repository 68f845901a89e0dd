import { movesKey, movesOf } from "../../core/chat/move-under-way.ts";
import { type Clock, isoTime, systemClock } from "../../core/clock.ts";
import { isThroughlineError, ThroughlineError } from "../../core/errors.ts";
import { type NewId, randomId } from "../../core/ids.ts";
import type { JsonObject } from "../../core/json.ts";
import { companionAnswers } from "../../core/storage/cluster.ts";
import type { FileStore } from "../../core/storage/file-store.ts";
import { companionLease, type Lease } from "../../core/storage/leases.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { systemTimers, type Timers } from "../../core/timers.ts";
import { append, copyLog, isNotSame, type OnDamage } from "./copy-log.ts";
import { documentPlaces, everyLog, type FoundLog, filePlaces, placeName } from "./places.ts";

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
  const { damaged = "refuse", signal } = options;
  const of = await begin(from, to, options);
  const files = await copyFiles(from, to, { damaged, signal });
  const { records, copied } = await copyLogs(from, to, options, of);
  const documents = await copyDocuments(from, to, signal);
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
  return new ThroughlineError(`the target is not empty: it holds ${name}. Nothing was written`, {
    code: "THROUGHLINE_CONFLICT",
  });
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
  const { damaged = "refuse", signal, onProgress } = options;
  const progress = { logs: 0, of, records: 0 };
  let records = 0;
  const copyOne = async ({ place, logs, row: { key } }: FoundLog) => {
    signal?.throwIfAborted();
    progress.logs++;
    onProgress?.({ ...progress });
    const onStored = (count: number) => {
      progress.records += count;
      onProgress?.({ ...progress });
    };
    const name = placeName(place.collection, key);
    const target = to.logs(place.collection, place.projection);
    const count = await copyLog(logs, target, { key, name, damaged, signal, onStored });
    records += count;
  };
  const logs = everyLog(from);
  const work = async () => {
    // The workers share one walk. The first that fails ends it for all.
    for await (const found of { [Symbol.asyncIterator]: () => ({ next: () => logs.next() }) }) {
      await copyOne(found);
    }
  };
  const workers = Array.from({ length: logsAtOnce }, () =>
    work().catch(async (error: unknown) => {
      await logs.return(undefined);
      throw error;
    }),
  );
  await Promise.allSettled(workers); // nothing may be written after this call has ended
  await Promise.all(workers);
  return { records, copied: progress.records };
}

interface FileOptions {
  readonly damaged: OnDamage;
  readonly signal: AbortSignal | undefined;
}

/** Makes the files of every chat the same, one in memory at a time. @returns how many there are. */
async function copyFiles(from: Storage, to: Storage, options: FileOptions): Promise<number> {
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
        options.signal?.throwIfAborted();
        if ((await whole(target, key, hash, "mark")) === undefined) {
          const bytes = await whole(source, key, hash, options.damaged);
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

/** @throws ThroughlineError `THROUGHLINE_CORRUPT`: it is damaged, and that is not to be passed over. */
async function whole(
  files: FileStore,
  key: string,
  hash: string,
  damaged: OnDamage,
): Promise<Uint8Array | undefined> {
  try {
    return await files.get(key, hash);
  } catch (error) {
    if (damaged === "refuse" || !isThroughlineError(error, "THROUGHLINE_CORRUPT")) throw error;
    return undefined;
  }
}

/** Makes the documents the same. @returns how many there are. */
async function copyDocuments(
  from: Storage,
  to: Storage,
  signal: AbortSignal | undefined,
): Promise<number> {
  let count = 0;
  for (const collection of documentPlaces) {
    const [source, target] = [from.documents(collection), to.documents(collection)];
    for (const key of new Set([...(await source.keys()), ...(await target.keys())])) {
      signal?.throwIfAborted();
      const given = (await source.read(key))?.value;
      if (given === undefined) {
        await target.delete(key);
        continue;
      }
      const text = JSON.stringify(given);
      const own = await target.read(key);
      if (JSON.stringify(own?.value) !== text) {
        await target.write(key, given, { expectedRevision: own?.revision ?? 0 });
      }
      // The one before it, perhaps of a copy that was killed here, may hold words forgotten since.
      await target.forgetCopies(key);
      const [now, copied] = [await source.read(key), await target.read(key)];
      if (JSON.stringify(now?.value) !== text || JSON.stringify(copied?.value) !== text)
        throw isNotSame(placeName(collection, key));
      count++;
    }
  }
  return count;
}
