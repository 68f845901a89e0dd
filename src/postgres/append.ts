import { type ErrorCode, ThroughlineError } from "../core/errors.ts";
import { isErased, sameRecord, storedRecord } from "../core/storage/batch.ts";
import { appendStatement } from "./append-statement.ts";
import type { Connection } from "./connection.ts";
import { type Begun, type Database, inTransaction, type Work } from "./database.ts";
import { isDuplicate } from "./error-class.ts";
import type { IndexedBatch } from "./indexed-batch.ts";
import { fenced, isFenced, type LockedLog, type LogTarget, lockLog } from "./locked-log.ts";
import { logStatements as statements } from "./log-statements.ts";

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
      throw refusal("THROUGHLINE_CONFLICT", `the log ends at seq ${end}`);
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
      throw refusal("THROUGHLINE_ID_CONFLICT", `record ${seq} has this id and other content`);
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

function refusal(code: ErrorCode, message: string): ThroughlineError {
  return new ThroughlineError(message, { code });
}
