import { createHash } from "node:crypto";
import { isThroughlineError, ThroughlineError } from "../../core/errors.ts";
import {
  type AppendOptions,
  type LogHead,
  type LogRecord,
  type LogStore,
  type LogTail,
  type StoredRecord,
  update,
} from "../../core/storage/log-store.ts";

/** What to do about records of the source that damage took. */
export type OnDamage = "refuse" | "mark";

/** One append stays small: well within `logLimits`, and quick to repeat. */
const batchRecords = 256;
const batchBytes = 2 * 1024 * 1024;

interface CopyLogOptions {
  readonly key: string;
  /** Stands in messages for the log. */
  readonly name: string;
  readonly damaged: OnDamage;
  readonly signal?: AbortSignal | undefined;
  /** Called after each append, with the number of its records. */
  onStored(count: number): void;
}

/**
 * Copies a log: records under the same ids and numbers, and with the last of them the head. Continues where an
 * earlier copy ended, if that is the beginning of the source's log; else it copies the log again. Then it reads
 * the copy, and compares.
 *
 * @returns how many records the log has: none if damage took all of it, and is marked.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something was written to one of them while it was copied.
 * @throws ThroughlineError `THROUGHLINE_CORRUPT`: a record cannot be read, and damage is refused.
 */
export async function copyLog(
  source: LogStore,
  target: LogStore,
  options: CopyLogOptions,
): Promise<number> {
  const { key, name, damaged, signal, onStored } = options;
  const end = await source.tail(key, 0);
  if (end === undefined) return 0;
  if (end.seq === 0) return leaveOut(target, options, end);
  const begun = (await target.tail(key, 0))?.seq ?? 0;
  const begunDigest = await digestOf(target, key, begun);
  const digest = createHash("sha256");
  let isOther = begun > end.seq;
  let seq = begun;
  let batch: LogRecord[] = [];
  let bytes = 0;
  const store = async (head?: LogHead) => {
    signal?.throwIfAborted();
    seq = await append(target, key, batch, { expectedSeq: seq, head });
    onStored(batch.length);
    batch = [];
    bytes = 0;
  };
  for await (const record of records(source, key, { name, until: end.seq, damaged })) {
    if (isOther) break;
    digest.update(lineOf(record));
    if (record.seq === begun) isOther = digest.copy().digest("hex") !== begunDigest;
    if (record.seq <= begun) continue;
    if (batch.length === batchRecords || bytes > batchBytes) await store();
    const { seq: _, ...own } = record;
    batch.push(own);
    bytes += Buffer.byteLength(JSON.stringify(own));
  }
  if (isOther) {
    await target.delete(key);
    return copyLog(source, target, options);
  }
  if (batch.length > 0) await store(end.head);
  else if (headAndEnd(await target.tail(key, 0)) !== headAndEnd(end)) {
    await target.erase(key, [], { head: end.head });
  }
  const [now, own] = [await source.tail(key, 0), await target.tail(key, 0)];
  const isSame =
    headAndEnd(now) === headAndEnd(end) &&
    headAndEnd(own) === headAndEnd(end) &&
    (await digestOf(target, key, end.seq)) === digest.digest("hex");
  if (!isSame) throw isNotSame(name);
  return end.seq;
}

/** There is no number at which a mark could stand. */
async function leaveOut(
  target: LogStore,
  { key, name, damaged }: CopyLogOptions,
  { damaged: isDamaged }: LogTail,
): Promise<number> {
  if (isDamaged && damaged === "refuse") {
    throw new ThroughlineError(`${name} is damaged: nothing of it can be read`, {
      code: "THROUGHLINE_CORRUPT",
    });
  }
  await target.delete(key);
  return 0;
}

export function isNotSame(name: string): ThroughlineError {
  return new ThroughlineError(
    `${name} is not the same in both: something was written during the copy. Run it again`,
    { code: "THROUGHLINE_CONFLICT" },
  );
}

const lineOf = (record: StoredRecord) => `${JSON.stringify(record)}\n`;

const headAndEnd = (tail: { readonly seq: number; readonly head: LogHead } | undefined) =>
  JSON.stringify([tail?.seq, tail?.head]);

async function digestOf(logs: LogStore, key: string, until: number): Promise<string> {
  const digest = createHash("sha256");
  for await (const record of logs.read(key)) {
    if (record.seq > until) break;
    digest.update(lineOf(record));
  }
  return digest.digest("hex");
}

/** Repeats an append with an unknown outcome: the ids settle it. */
export async function append(
  logs: LogStore,
  key: string,
  batch: readonly LogRecord[],
  options: AppendOptions,
): Promise<number> {
  const isUnknown = (error: unknown) => isThroughlineError(error, "THROUGHLINE_OUTCOME_UNKNOWN");
  return update(() => logs.append(key, batch, options), isUnknown);
}

/** Reads the records of a log without a gap: a mark stands where one was lost, so that all other numbers stay. */
async function* records(
  logs: LogStore,
  key: string,
  options: { readonly name: string; readonly until: number; readonly damaged: OnDamage },
): AsyncGenerator<StoredRecord> {
  const { name, until, damaged } = options;
  let next = 1;
  const fill = function* (end: number) {
    if (next < end && damaged === "refuse") {
      throw new ThroughlineError(`${name} is damaged: record ${next} cannot be read`, {
        code: "THROUGHLINE_CORRUPT",
      });
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
