import { isThroughlineError } from "../../core/errors.ts";
import type { AppendOptions, LogHead, LogRecord, LogStore } from "../../core/storage/log-store.ts";
import { compareLogs, type LogPair } from "./compare-logs.ts";
import { type OnDamage, records, unnumbered } from "./records.ts";

/** One append stays small: well within `logLimits`, and quick to repeat. */
const batchRecords = 256;
const batchBytes = 2 * 1024 * 1024;
/** Ids that one call of `erase` is given. */
const eraseIds = 1_000;
const attempts = 3;

interface CopyLogOptions {
  readonly damaged: OnDamage;
  /** The head of a log that is new there, until its last record is stored. */
  readonly draft?: LogHead | undefined;
  /** The source erased records that are copied already. */
  readonly hasErasures: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Called after each append, with the number of its records. */
  onStored(count: number): void;
}

/**
 * Goes on copying a log where the target's copy of it ends: records under the same ids and numbers,
 * and with the last of them the head. What was erased at the source since is erased in the copy.
 */
export async function copyLog(pair: LogPair, options: CopyLogOptions): Promise<void> {
  const { name, source, target } = pair;
  const { damaged, draft, hasErasures, signal, onStored } = options;
  const end = await source.tail(name.key, 0);
  if (end === undefined) return; // forgotten since it was listed
  const there = await target.tail(name.key, 0);
  if (hasErasures) await followErasures(pair, damaged);
  const isDraft = there === undefined || there.head["unfinished"] === true;
  const unfinished = draft !== undefined && isDraft ? { head: draft } : {};
  let seq = there?.seq ?? 0;
  let batch: LogRecord[] = [];
  let bytes = 0;
  const store = async (head: { readonly head?: LogHead }) => {
    signal?.throwIfAborted();
    seq = await append(target, name.key, batch, { expectedSeq: seq, ...head });
    onStored(batch.length);
    batch = [];
    bytes = 0;
  };
  for await (const record of records(source, name, { after: seq, until: end.seq, damaged })) {
    if (batch.length === batchRecords || bytes > batchBytes) await store(unfinished);
    const own = unnumbered(record);
    batch.push(own);
    bytes += Buffer.byteLength(JSON.stringify(own));
  }
  if (batch.length > 0) await store({ head: end.head });
  else if (!isSame(there?.head, end.head)) await target.erase(name.key, [], { head: end.head });
}

/** An append with an unknown outcome is repeated: the ids settle it. */
export async function append(
  logs: LogStore,
  key: string,
  batch: readonly LogRecord[],
  options: AppendOptions = {},
): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await logs.append(key, batch, options);
    } catch (error) {
      const isUnknown = isThroughlineError(error, "THROUGHLINE_OUTCOME_UNKNOWN");
      if (!isUnknown || attempt >= attempts) throw error;
    }
  }
}

async function followErasures(pair: LogPair, damaged: OnDamage): Promise<void> {
  const { erased } = await compareLogs(pair, damaged);
  for (let at = 0; at < erased.length; at += eraseIds) {
    await pair.target.erase(pair.name.key, erased.slice(at, at + eraseIds));
  }
}

const isSame = (a: LogHead | undefined, b: LogHead) => JSON.stringify(a) === JSON.stringify(b);
