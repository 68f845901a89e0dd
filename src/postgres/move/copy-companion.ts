import { createHash } from "node:crypto";
import { type Clock, systemClock } from "../../core/clock.ts";
import { ThroughlineError } from "../../core/errors.ts";
import { type NewId, randomId } from "../../core/ids.ts";
import { companionLease, type Lease } from "../../core/storage/leases.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { systemTimers, type Timers } from "../../core/timers.ts";
import { compareLogs } from "./compare-logs.ts";
import { copyLog } from "./copy-log.ts";
import { compareDocuments, copyDocuments, foreignDocuments } from "./documents.ts";
import { everyLog, type FoundLog } from "./every-log.ts";
import { compareFiles, copyFiles, foreignFiles } from "./files.ts";
import { joinMarks, missingMarks, type NewMarks, newMarks } from "./forgotten-marks.ts";
import { inOrder, logsAtOnce } from "./in-order.ts";
import { MoveNotes } from "./move-notes.ts";
import { chatsPlace, documentPlaces, logPlaces, marksPlace } from "./places.ts";
import { digestOf, type LogName, type OnDamage, placeName } from "./records.ts";

export interface CopyProgress {
  /** `check`: what the target holds already. `verify`: both are read from end to end. */
  readonly phase: "check" | "copy" | "verify";
  /** Logs of this phase that were begun. */
  readonly logs: number;
  /** Logs of the source; while it is checked, of the target. */
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
  /** Somebody has the companion there: this is waited for, up to 12 s. */
  readonly onWait?: (which: Side) => void;
  readonly clock?: Clock;
  /** @default systemTimers */
  readonly timers?: Timers;
  readonly newId?: NewId;
}

export type Side = "source" | "target";

export interface CopyReport extends Verified {
  /** Records that this call stored; less than `records` when an earlier one had begun. */
  readonly copied: number;
}

/**
 * How long to wait for another holder of the companion: the lease of a copier that was killed lasts
 * 10 s more. A server renews its own.
 */
const longestWaitMs = 12_000;

/**
 * The pause between two tries. None of them stands in line: when a server died, another one that takes
 * its place is first.
 */
const tryEveryMs = 1_000;

/**
 * Copies a companion from one storage into another: the marks of what was forgotten, chats and their
 * attachments, runs, moods and documents. Records keep their ids and numbers, erased ones stay erased, heads and
 * documents are equal; both sides are read from end to end and compared before it resolves.
 *
 * A call that was killed is called again, and continues where it stopped. The source is only read,
 * and nothing may be written to it during the copy: it is held, if it can be. Eight logs are copied
 * at once, and each has one batch of about 2 MiB in memory; besides, there are the ids of the marks
 * of forgotten chats.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: the target holds something that is no copy of the
 *   source's, and nothing was written; or something was written to one of them during the copy.
 * @throws ThroughlineError `THROUGHLINE_LOCKED`: somebody works on one of them, 12 s later still.
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
    held.push(...(await hold(from, "source", options)));
    held.push(...(await hold(to, "target", options)));
    const signals = [...held.map(({ lost }) => lost), ...(options.signal ? [options.signal] : [])];
    return await copy(from, to, { ...options, signal: AbortSignal.any(signals) });
  } finally {
    for (const lease of held) await lease.release();
  }
}

async function hold(
  { leases }: Storage,
  which: Side,
  { signal, onWait, timers = systemTimers }: CopyOptions,
): Promise<readonly Lease[]> {
  for (let waitedMs = 0; waitedMs <= longestWaitMs; waitedMs += tryEveryMs) {
    if (waitedMs > 0) await pause(tryEveryMs, timers, signal);
    const lease = await leases.tryAcquire(companionLease);
    if (lease !== undefined) return [lease];
    if (waitedMs === 0) onWait?.(which);
  }
  throw new ThroughlineError(`a server runs this companion on the ${which}: stop it first`, {
    code: "THROUGHLINE_LOCKED",
  });
}

async function pause(ms: number, timers: Timers, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const { promise: passed, resolve: end } = Promise.withResolvers<void>();
  const cancel = timers.after(ms, end, { holdsProcess: true });
  const onAbort = () => end();
  signal?.addEventListener("abort", onAbort);
  await passed;
  cancel();
  signal?.removeEventListener("abort", onAbort);
  signal?.throwIfAborted();
}

async function copy(from: Storage, to: Storage, options: CopyOptions): Promise<CopyReport> {
  const { damaged = "refuse", signal } = options;
  const { clock = systemClock, newId = randomId } = options;
  const count = await countLogs(from);
  const progress = new Progress(options.onProgress);
  const both = { from, to };
  const marks = await newMarks(from, to);
  const notes = await MoveNotes.read(to, { clock, newId });
  const onLog = () => progress.log();
  progress.begin("check", await countLogs(to));
  const found = await survey(both, { marks, notes, damaged, signal, onLog });
  await notes.begin(found.isEmpty);
  for (const { collection, key } of found.forgotten) {
    await to.logs(collection, chatsPlace.projection).delete(key);
  }
  await joinMarks(from, to);
  progress.begin("copy", count);
  await copyFiles(both, { marks, damaged, signal });
  const copyOne = async ({ place, logs: source, row }: FoundLog): Promise<void> => {
    signal?.throwIfAborted();
    progress.log();
    if (place === chatsPlace && marks.isForgottenAtTarget(row.key)) return;
    const { collection, projection, draft } = place;
    const name = { collection, key: row.key };
    const hasErasures = found.withErasures.has(placeName(name));
    const pair = { name, source, target: to.logs(collection, projection) };
    const onStored = (count: number) => progress.stored(count);
    await copyLog(pair, { damaged, draft, hasErasures, signal, onStored });
  };
  for await (const _ of inOrder(everyLog(from, logPlaces), logsAtOnce, copyOne)) {
    // Each was counted when it was begun.
  }
  await copyDocuments(from, to, notes, signal);
  progress.begin("verify", count);
  const verified = await verify(both, { marks, damaged, signal, onLog });
  await notes.end({ ...verified });
  return { ...verified, copied: progress.copied };
}

/** Opens the collections too: from here on their lists are those of the logs. */
async function countLogs(storage: Storage): Promise<number> {
  let count = 0;
  for await (const { place } of everyLog(storage, [marksPlace, ...logPlaces])) {
    if (place !== marksPlace) count++;
  }
  return count;
}

class Progress {
  readonly #tell: (progress: CopyProgress) => void;
  #phase: CopyProgress["phase"] = "check";
  #logs = 0;
  #of = 0;
  copied = 0;

  constructor(tell: (progress: CopyProgress) => void = () => undefined) {
    this.#tell = tell;
  }

  begin(phase: CopyProgress["phase"], of: number): void {
    this.#phase = phase;
    this.#logs = 0;
    this.#of = of;
  }

  log(): void {
    this.#logs++;
    this.#say();
  }

  stored(count: number): void {
    this.copied += count;
    this.#say();
  }

  #say(): void {
    this.#tell({
      phase: this.#phase,
      logs: this.#logs,
      of: this.#of,
      records: this.copied,
    });
  }
}

interface Survey {
  /** The target held nothing at all. */
  readonly isEmpty: boolean;
  /** Names of logs of which the source erased records after they had been copied. */
  readonly withErasures: ReadonlySet<string>;
  /** Copies of chats that were forgotten at the source since. */
  readonly forgotten: readonly LogName[];
}

/** So many names stand in the message of a refusal. */
const namesTold = 3;

/**
 * Compares everything that the target holds with the source.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: it holds something that is no copy of the source's.
 */
async function survey(
  { from, to }: { readonly from: Storage; readonly to: Storage },
  options: {
    readonly marks: NewMarks;
    readonly notes: MoveNotes;
    readonly damaged: OnDamage;
    readonly signal?: AbortSignal | undefined;
    onLog(found: FoundLog): void;
  },
): Promise<Survey> {
  const { marks, notes, damaged, signal, onLog } = options;
  const withErasures = new Set<string>();
  const forgotten: LogName[] = [];
  const foreign: string[] = [];
  let logCount = 0;
  const compareOne = async (found: FoundLog) => {
    signal?.throwIfAborted();
    onLog(found);
    const { place, logs: target, row } = found;
    const name = { collection: place.collection, key: row.key };
    const source = from.logs(place.collection, place.projection);
    const isChat = place === chatsPlace;
    if (isChat && marks.isForgottenAtTarget(row.key)) return undefined; // started over at the target: not ours
    return { name, isChat, ...(await compareLogs({ name, source, target }, damaged)) };
  };
  for await (const compared of inOrder(everyLog(to, logPlaces), logsAtOnce, compareOne)) {
    logCount++;
    if (compared === undefined) continue;
    const { name, isChat, relation, erased } = compared;
    if (relation === "same" || relation === "behind") {
      if (erased.length > 0) withErasures.add(placeName(name));
    } else if (isChat && notes.holdsOnlyCopies && marks.isForgottenAtSource(name.key)) {
      forgotten.push(name);
    } else foreign.push(placeName(name));
  }
  foreign.push(...(await foreignDocuments(from, to, notes, signal)));
  const files = await foreignFiles({ from, to }, notes, { marks, signal });
  foreign.push(...files.names);
  if (foreign.length > 0) throw isForeign(foreign);
  const documents = await Promise.all(documentPlaces.map((each) => to.documents(each).keys()));
  const isEmpty = logCount + documents.flat().length + files.count === 0;
  return { isEmpty, withErasures, forgotten };
}

function isForeign(names: readonly string[]): ThroughlineError {
  const told = names.slice(0, namesTold).join(", ");
  const more = names.length > namesTold ? ` and ${names.length - namesTold} more` : "";
  return new ThroughlineError(
    `the target holds what is no copy of the source: ${told}${more}; nothing was written`,
    { code: "THROUGHLINE_CONFLICT" },
  );
}

/** What was read from end to end in both storages, and found equal. */
interface Verified {
  readonly logs: number;
  readonly records: number;
  readonly documents: number;
  /** Attachments of chats. */
  readonly files: number;
  /** Of everything, in the order of the lists: the same for the same companion in any storage. */
  readonly sha256: string;
  /** Chats that were left out, because they are forgotten at the target. */
  readonly left_out: number;
}

/**
 * Reads everything in both storages and compares counts, digests, heads, documents and files.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: a log, a document or a file is not the same.
 */
async function verify(
  { from, to }: { readonly from: Storage; readonly to: Storage },
  options: {
    readonly marks: NewMarks;
    readonly damaged: OnDamage;
    readonly signal?: AbortSignal | undefined;
    onLog(found: FoundLog): void;
  },
): Promise<Verified> {
  const { marks, damaged, signal, onLog } = options;
  const all = createHash("sha256");
  let logs = 0;
  let records = 0;
  let leftOut = 0;
  const verifyOne = async (found: FoundLog) => {
    signal?.throwIfAborted();
    onLog(found);
    const name = { collection: found.place.collection, key: found.row.key };
    const isLeftOut = found.place === chatsPlace && marks.isForgottenAtTarget(name.key);
    return isLeftOut ? undefined : { name, digest: await digestOfBoth(found, to, name, damaged) };
  };
  for await (const found of inOrder(everyLog(from, logPlaces), logsAtOnce, verifyOne)) {
    if (found === undefined) {
      leftOut++;
      continue;
    }
    const { name, digest } = found;
    all.update(`${JSON.stringify([name.collection, name.key, digest.sha256])}\n`);
    records += digest.records;
    logs++;
  }
  for await (const _ of missingMarks(from, to)) throw isOther("the log of forgotten chats");
  const documents = await compareDocuments(from, to, signal);
  const [other] = documents.other;
  if (other !== undefined) throw isOther(other);
  all.update(documents.sha256);
  const files = await compareFiles({ from, to }, { marks, damaged, signal });
  const [otherFiles] = files.other;
  if (otherFiles !== undefined) throw isOther(otherFiles);
  for (const name of files.same) all.update(`${name}\n`);
  const counts = {
    logs,
    records,
    documents: documents.same,
    files: files.same.length,
    left_out: leftOut,
  };
  return { ...counts, sha256: all.digest("hex") };
}

async function digestOfBoth(
  { place, logs }: FoundLog,
  to: Storage,
  name: LogName,
  damaged: OnDamage,
) {
  const target = to.logs(place.collection, place.projection);
  // The ends first: what is appended from now on is another's, and is not hidden by being read.
  const [given, own] = [await logs.tail(name.key, 0), await target.tail(name.key, 0)];
  if (given === undefined || own === undefined || given.seq !== own.seq) {
    throw isOther(placeName(name));
  }
  const [digest, ownDigest] = await Promise.all([
    digestOf(logs, name, given, damaged),
    digestOf(target, name, own, "refuse"),
  ]);
  if (digest.sha256 !== ownDigest.sha256) throw isOther(placeName(name));
  return digest;
}

function isOther(name: string): ThroughlineError {
  return new ThroughlineError(
    `${name} is not the same in both: something was written during the move; run it again`,
    { code: "THROUGHLINE_CONFLICT" },
  );
}
