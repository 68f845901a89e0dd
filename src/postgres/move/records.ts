import { createHash } from "node:crypto";
import { printableLine } from "../../core/chat/printable.ts";
import { ThroughlineError } from "../../core/errors.ts";
import type { LogHead, LogRecord, LogStore, StoredRecord } from "../../core/storage/log-store.ts";

/** What to do about records of the source that damage took. */
export type OnDamage = "refuse" | "mark";

/** One log, by both of its names. */
export interface LogName {
  readonly collection: string;
  readonly key: string;
}

/** As a message or a report says it: `chats/telegram:42`. */
export function placeName({ collection, key }: LogName): string {
  return printableLine(collection === "" ? key : `${collection}/${key}`);
}

/** What stands where a record was lost, so that the numbers of all others stay true. */
const lostRecord = (seq: number): StoredRecord => {
  return { id: `lost:${seq}`, seq, _type: "metadata", kind: "lost" };
};

/**
 * The records of a log after `after`, up to and with `until`, without a gap.
 *
 * @throws ThroughlineError `THROUGHLINE_CORRUPT`: a number is missing, and damage is refused.
 */
export async function* records(
  logs: LogStore,
  name: LogName,
  options: { readonly after?: number; readonly until: number; readonly damaged: OnDamage },
): AsyncGenerator<StoredRecord> {
  const { after = 0, until, damaged } = options;
  let next = after + 1;
  const fill = function* (end: number) {
    if (next < end && damaged === "refuse") throw isDamaged(name, next);
    while (next < end) yield lostRecord(next++);
  };
  for await (const record of logs.read(name.key, { after })) {
    if (record.seq > until) break;
    yield* fill(record.seq);
    yield record;
    next = record.seq + 1;
  }
  yield* fill(until + 1);
}

function isDamaged(name: LogName, seq: number): ThroughlineError {
  return new ThroughlineError(`${placeName(name)} is damaged: record ${seq} cannot be read`, {
    code: "THROUGHLINE_CORRUPT",
  });
}

/** As it was appended. */
export function unnumbered({ seq: _, ...record }: StoredRecord): LogRecord {
  return record;
}

/** What two logs must have in common to be the same. */
interface LogDigest {
  readonly records: number;
  /** Of the exact text of all records and of the head. */
  readonly sha256: string;
}

export async function digestOf(
  logs: LogStore,
  name: LogName,
  end: { readonly seq: number; readonly head: LogHead },
  damaged: OnDamage,
): Promise<LogDigest> {
  const hash = createHash("sha256");
  let count = 0;
  for await (const record of records(logs, name, { until: end.seq, damaged })) {
    hash.update(`${JSON.stringify(record)}\n`);
    count++;
  }
  hash.update(JSON.stringify(end.head));
  return { records: count, sha256: hash.digest("hex") };
}
