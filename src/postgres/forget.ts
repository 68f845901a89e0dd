import { conflict } from "../core/errors.ts";
import { erasedJson, isErased, storedRecord } from "../core/storage/batch.ts";
import type { Connection } from "./connection.ts";
import type { Attempt } from "./database.ts";
import { type IndexedHead, type Indexing, wordsOf } from "./indexed-batch.ts";
import { fenced, isFenced, type LogTarget, lockLog } from "./locked-log.ts";
import { logStatements as statements } from "./log-statements.ts";
import type { Row } from "./pool.ts";
import { placesOf } from "./words.ts";

/** So many records are deleted by one statement, so that each ends within its deadline. */
const recordsAtOnce = 10_000;

/**
 * Replaces the content of these records, in a transaction.
 *
 * @returns how many were erased.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: the log does not end where it is expected to.
 */
export async function eraseRecords(
  connection: Connection,
  target: LogTarget,
  what: {
    readonly ids: readonly string[];
    readonly head: IndexedHead | undefined;
    readonly expectedSeq: number | undefined;
    readonly indexing: Indexing;
    /** By an attempt of this call with an unknown outcome. */
    readonly erasedBefore: number;
  },
): Promise<number> {
  const { place } = target;
  const log = await lockLog(connection, place);
  if (isFenced(target, log)) throw fenced();
  const seq = log?.seq ?? 0;
  const isElsewhere = what.expectedSeq !== undefined && what.expectedSeq !== seq;
  if (seq === 0 && !isElsewhere) return 0;
  const known = await connection.run({ ...statements.known, values: [...place, what.ids] });
  const rows = known.filter((row) => !isErased(recordOf(row)));
  if (isElsewhere) {
    // That attempt was stored after all, and others went on from there, from its head.
    if (what.erasedBefore > 0 && known.length > 0 && rows.length === 0) return 0;
    throw conflict(`the log ends at seq ${seq}`);
  }
  if (rows.length > 0) {
    const seqs = rows.map((row) => row["seq"]);
    const bodies = rows.map((row) => erasedJson(String(row["id"])));
    await connection.run({ ...statements.erase, values: [...place, seqs, bodies] });
    await showAgain(connection, target, what.indexing, rows);
  }
  if (what.head !== undefined) {
    const { json, sortedAt, labels } = what.head;
    await connection.run({ ...statements.setHead, values: [...place, json, sortedAt, labels] });
  }
  return rows.length;
}

/** Lets search find what only the erased records hid. */
async function showAgain(
  connection: Connection,
  { place }: LogTarget,
  indexing: Indexing,
  erased: readonly Row[],
): Promise<void> {
  const hidden = erased.flatMap((row) => (typeof row["hides"] === "string" ? row["hides"] : []));
  if (hidden.length === 0) return;
  const shown = await connection.run({ ...statements.unhidden, values: [...place, hidden] });
  const places = placesOf(indexing.scope, place[2]);
  for (const row of shown) {
    const words = wordsOf(indexing.projection, places, recordOf(row));
    await connection.run({ ...statements.setWords, values: [...place, row["seq"], words] });
  }
}

/**
 * Removes a log, in a transaction. Its lease stays, if somebody has it.
 *
 * @returns whether there was a log.
 */
export async function deleteLog(
  connection: Connection,
  target: LogTarget,
  attempt: Attempt,
): Promise<boolean> {
  const { place } = target;
  const log = await lockLog(connection, place);
  if (isFenced(target, log)) throw fenced();
  if (log === undefined) return false;
  for (let seq = Math.min(recordsAtOnce, log.seq); log.seq > 0; seq += recordsAtOnce) {
    await connection.run({ ...statements.deleteRecords, values: [...place, seq] });
    if (seq >= log.seq) break;
    attempt.extend();
  }
  const last = log.isHeld ? statements.emptyLog : statements.deleteLog;
  await connection.run({ ...last, values: [...place] });
  return log.seq > 0;
}

function recordOf(row: Row): ReturnType<typeof storedRecord> {
  return storedRecord(String(row["body"]), Number(row["seq"]));
}
