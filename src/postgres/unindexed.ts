import { storedRecord } from "../core/storage/batch.ts";
import type { Connection } from "./connection.ts";
import type { Database } from "./database.ts";
import { type Indexing, wordsOf } from "./indexed-batch.ts";
import { indexerStatements as statements } from "./indexer-statements.ts";
import type { Row } from "./pool.ts";
import { placesOf } from "./words.ts";

/** The logs of one collection of a companion, and how their records are read. */
export interface IndexedPlace extends Indexing {
  readonly database: Database;
  readonly companion: string;
  readonly collection: string;
}

/** One transaction; appends to its logs wait for it. Also what this process does without a pause. */
const logsAtOnce = 32;
const recordsAtOnce = 64;
const bytesAtOnce = 1024 * 1024;

/** A log as it was when its records were read. */
interface ReadLog {
  readonly key: string;
  readonly born: string;
  /** Words are missing after this seq; and after `until` when those of the records are stored. */
  readonly after: number;
  readonly until: number;
  readonly records: readonly ReadRecord[];
}

/** A record that search may find, without its words in the index. */
interface ReadRecord {
  readonly seq: number;
  readonly body: string;
  readonly words: string;
}

/** What one transaction is about. */
interface ReadLogs {
  readonly logs: readonly ReadLog[];
  /** Whether there is more than fits. */
  readonly isFull: boolean;
}

/**
 * Stores words of records that have none yet. Reads without blocking access to the logs, and then
 * stores where nothing has happened since but appends and erasures.
 *
 * @returns whether more were missing than one call does; not when all those logs are being written.
 */
export async function storeMissingWords(place: IndexedPlace): Promise<boolean> {
  const { logs, isFull } = await readLogs(place);
  if (logs.length === 0) return false;
  const isStored = await place.database.transaction((connection) => {
    return storeWords(connection, place, logs);
  });
  return isStored && isFull;
}

async function readLogs(place: IndexedPlace): Promise<ReadLogs> {
  const { database, companion, collection } = place;
  const at = [companion, collection];
  const found = await database.query({ ...statements.logs, values: [...at, logsAtOnce] });
  if (found.length === 0) return { logs: [], isFull: false };
  const logs = few(found);
  const column = (name: string) => logs.map((row) => row[name]);
  const extents = [column("key"), column("unindexed_after"), column("seq")];
  const values = [...at, ...extents, recordsAtOnce, bytesAtOnce];
  const rows = await database.query({ ...statements.records, values });
  // The last log that is in it may go on; those after it were not reached.
  const isAll = rows.length === Number(rows[0]?.["found"] ?? 0) && rows.length < recordsAtOnce;
  const last = isAll ? logs.length : Number(rows.at(-1)?.["n"]);
  const read = logs.slice(0, last).map((log, index) => {
    const own = rows.filter((row) => row["n"] === index + 1);
    const isCut = !isAll && index === last - 1;
    return {
      key: String(log["key"]),
      born: String(log["born"]),
      after: Number(log["unindexed_after"]),
      until: Number(isCut ? own.at(-1)?.["seq"] : log["seq"]),
      records: withWords(place, String(log["key"]), own),
    };
  });
  return {
    logs: read,
    isFull: !isAll || logs.length < found.length || found.length === logsAtOnce,
  };
}

/** As many of these logs as may have all the records of one transaction. */
function few(logs: readonly Row[]): readonly Row[] {
  let count = 0;
  const last = logs.findIndex((row) => {
    count += Number(row["seq"]) - Number(row["unindexed_after"]);
    return count >= recordsAtOnce;
  });
  return last === -1 ? logs : logs.slice(0, last + 1);
}

function withWords(place: IndexedPlace, key: string, rows: readonly Row[]): ReadRecord[] {
  const places = placesOf(place.scope, key);
  return rows.flatMap((row) => {
    const [body, seq] = [String(row["body"]), Number(row["seq"])];
    const words = wordsOf(place.projection, places, storedRecord(body, seq));
    return words === null ? [] : { seq, body, words };
  });
}

/**
 * In a transaction.
 *
 * @returns whether any of these logs could be written.
 */
async function storeWords(
  connection: Connection,
  { companion, collection }: IndexedPlace,
  read: readonly ReadLog[],
): Promise<boolean> {
  const at = [companion, collection];
  const keys = read.map(({ key }) => key);
  const rows = await connection.run({ ...statements.lock, values: [...at, keys] });
  const locked = new Map(rows.map((row) => [String(row["key"]), row]));
  const logs = read.filter((log) => isSame(log, locked.get(log.key)));
  if (logs.length === 0) return false;
  const records = logs.flatMap(({ key, records }) => records.map((each) => ({ key, ...each })));
  const values = [
    ...at,
    records.map(({ key }) => key),
    records.map(({ seq }) => seq),
    records.map(({ body }) => body),
    records.map(({ words }) => words),
    logs.map(({ key }) => key),
    logs.map(({ key, until }) => (Number(locked.get(key)?.["seq"]) > until ? until : null)),
  ];
  await connection.run({ ...statements.store, values });
  return true;
}

/** Whether it is the same log, and no other call has stored words of it since. */
function isSame({ born, after }: ReadLog, row: Row | undefined): boolean {
  return String(row?.["born"]) === born && Number(row?.["unindexed_after"]) === after;
}
