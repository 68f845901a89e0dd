import { type Clock, systemClock } from "../../core/clock.ts";
import { ThroughlineError } from "../../core/errors.ts";
import { type NewId, randomId } from "../../core/ids.ts";
import { companionLease, type Lease } from "../../core/storage/leases.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { systemTimers, type Timers } from "../../core/timers.ts";
import { copyLog } from "./copy-log.ts";
import { copyDocuments } from "./documents.ts";
import { everyLog, type FoundLog } from "./every-log.ts";
import { copyFiles } from "./files.ts";
import { joinMarks, newMarks } from "./forgotten-marks.ts";
import { inOrder, logsAtOnce } from "./in-order.ts";
import { MoveNotes } from "./move-notes.ts";
import { chatsPlace, logPlaces, marksPlace } from "./places.ts";
import { type OnDamage, placeName } from "./records.ts";
import { survey } from "./survey.ts";
import { type Verified, verify } from "./verify.ts";

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
