import { conflict, ThroughlineError } from "../core/errors.ts";
import { isErased, sameRecord, storedRecord } from "../core/storage/batch.ts";
import type { Connection } from "./connection.ts";
import { type Begun, type Database, inTransaction, type Work } from "./database.ts";
import { isDuplicate } from "./error-class.ts";
import type { IndexedBatch, IndexedRecord } from "./indexed-batch.ts";
import { fenced, isFenced, type LockedLog, type LogTarget, lockLog } from "./locked-log.ts";
import { logStatements as statements } from "./log-statements.ts";
import type { PostgresStatement } from "./pool.ts";

/**
 * Appends a batch: by one statement, if nothing stands against it. If something does, or if it is
 * unknown whether an earlier attempt was stored, a transaction looks at what is there and decides.
 *
 * @param begun what was tried already, together with others.
 */
export function append(
  database: Database,
  target: LogTarget,
  batch: IndexedBatch,
  begun?: Begun,
): Promise<number> {
  let isPlain = batch.records.every((record) => record.hides === null);
  const work: Work<number> = async (connection, { isInDoubt }) => {
    if (isPlain && !isInDoubt) {
      const seq = await appendPlainly(connection, target, batch);
      if (seq !== undefined) return seq;
      isPlain = false;
    }
    return inTransaction(connection, () => decide(connection, target, batch, isInDoubt));
  };
  return database.attempt(work, begun);
}

/** @returns the `seq` of the last record; `undefined` when it stored nothing: somebody has to look why. */
async function appendPlainly(
  connection: Connection,
  target: LogTarget,
  batch: IndexedBatch,
): Promise<number | undefined> {
  const { rows } = await connection.store(appendStatement(target, batch)).catch((error) => {
    if (isDuplicate(error)) return { rows: [] };
    throw error;
  });
  return rows[0] && Number(rows[0]["seq"]);
}

/** Holds the log's row, and finds out what of the batch is missing. In a transaction. */
async function decide(
  connection: Connection,
  target: LogTarget,
  batch: IndexedBatch,
  isInDoubt: boolean,
): Promise<number> {
  const log = await lockOrCreate(connection, target, batch);
  // In doubt, what is stored counts as stored, whichever process holds the log now.
  if (isFenced(target, log) && !isInDoubt) throw fenced();
  const seqById = await storedOf(connection, target, batch);
  const missing = batch.records.filter(({ id }) => !seqById.has(id));
  if (missing.length > 0) {
    if (isFenced(target, log)) throw fenced();
    const end = log?.seq ?? 0;
    if (batch.expectedSeq !== undefined && batch.expectedSeq !== end) {
      throw conflict(`the log ends at seq ${end}`);
    }
    const first = (await store(connection, target, { ...batch, records: missing })) + 1;
    for (const [index, { id }] of missing.entries()) seqById.set(id, first + index);
  }
  return batch.records.reduce((_, { id }) => seqById.get(id) ?? 0, 0);
}

/** Also a log that this batch may begin is held before anyone looks what it holds. */
async function lockOrCreate(
  connection: Connection,
  target: LogTarget,
  { expectedSeq = 0 }: IndexedBatch,
): Promise<LockedLog | undefined> {
  for (;;) {
    const log = await lockLog(connection, target.place);
    if (log !== undefined || target.epoch !== undefined || expectedSeq > 0) return log;
    await connection.run({ ...statements.create, values: [...target.place] });
  }
}

/** The records of a batch that the log holds already; an id stays used when its content was erased. */
async function storedOf(
  connection: Connection,
  { place }: LogTarget,
  { records }: IndexedBatch,
): Promise<Map<string, number>> {
  const values = [...place, records.map(({ id }) => id)];
  const rows = await connection.run({ ...statements.known, values });
  const byId = new Map(rows.map((row) => [String(row["id"]), row]));
  const seqById = new Map<string, number>();
  for (const { id, json } of records) {
    const row = byId.get(id);
    if (row === undefined) continue;
    const [body, seq] = [String(row["body"]), Number(row["seq"])];
    if (!sameRecord(body, json) && !isErased(storedRecord(body, seq))) {
      const code = "THROUGHLINE_ID_CONFLICT";
      throw new ThroughlineError(`record ${seq} has this id and other content`, { code });
    }
    seqById.set(id, seq);
  }
  return seqById;
}

/** @returns the `seq` after which these records were stored. */
async function store(
  connection: Connection,
  target: LogTarget,
  batch: IndexedBatch,
): Promise<number> {
  const [row] = await connection.run(appendStatement(target, batch));
  if (row === undefined) throw fenced();
  const before = Number(row["seq"]) - batch.records.length;
  const targets = batch.records.flatMap(({ hides }) => hides ?? []);
  if (targets.length > 0) {
    await connection.run({ ...statements.hide, values: [...target.place, targets, before] });
  }
  return before;
}

// The one statement of an append, of two texts: for a log that must be there, and for one that may be new.
// Parameters 1 to 3 are the companion, the collection and the key, 4 to 7 what the row gets, 8 whether the head
// is replaced, 9 and 10 the end and the epoch that are expected, 11 to 14 the records: see `recordColumns`.

/** Many JSON texts are one text of as many lines: in an array each quote would be escaped here, and read again there. */
export function recordColumns(records: readonly IndexedRecord[]): unknown[] {
  return [
    records.map(({ id }) => id),
    records.map(({ json }) => json).join("\n"),
    records.map(({ words }) => words ?? "").join("\n"),
  ];
}

/** A row that is only a lease becomes a log. */
const set = `seq = old.seq + $4::bigint,
    head = case when $8::boolean or old.seq = 0 then $5::text else old.head end,
    sorted_at = case when $8 or old.seq = 0 then $6::text else old.sorted_at end,
    labels = case when $8 or old.seq = 0 then $7::text[] else old.labels end`;

const asExpected =
  "($9::bigint is null or old.seq = $9) and ($10::bigint is null or old.epoch = $10)";

const update = `update throughline.logs as old set ${set}
  where old.companion = $1 and old.collection = $2 and old.key = $3 and ${asExpected}`;

const create = `insert into throughline.logs as old
    (companion, collection, key, seq, head, sorted_at, labels)
  values ($1, $2, $3, $4, $5, $6, $7)
  on conflict (companion, collection, key) do update set ${set} where ${asExpected}`;

/** Answers the seq of the last record, or nothing when it stored nothing. */
const textOf = (log: string) => `with log as (
  ${log} returning seq
), stored as (
  insert into throughline.records (companion, collection, key, seq, id, body, words, hides)
  select $1, $2, $3, log.seq - $4 + each.n, id, body, words::tsvector, hides
  from log, unnest($11::text[], string_to_array($12::text, e'\\n'),
    string_to_array($13::text, e'\\n', ''), $14::text[])
    with ordinality as each (id, body, words, hides, n)
) select seq from log`;

const known = { name: "throughline_append", text: textOf(update) };
const begun = { name: "throughline_append_new", text: textOf(create) };

function appendStatement(
  { place, epoch }: LogTarget,
  { records, head, replacesHead, expectedSeq }: IndexedBatch,
): PostgresStatement {
  const mayCreate = epoch === undefined && (expectedSeq ?? 0) === 0;
  const values = [
    ...[...place, records.length, head.json, head.sortedAt, head.labels],
    ...[replacesHead, expectedSeq ?? null, epoch ?? null],
    ...recordColumns(records),
    records.map(({ hides }) => hides),
  ];
  return { ...(mayCreate ? begun : known), values };
}
