// The one statement of an append, of two texts: for a log that must be there, and for one that may be new.
// Parameters 1 to 3 are the companion, the collection and the key, 4 to 7 what the row gets, 8 whether the head
// is replaced, 9 and 10 the end and the epoch that are expected, 11 to 14 the records: see `recordColumns`.
import type { IndexedBatch, IndexedRecord } from "./indexed-batch.ts";
import type { LogTarget } from "./locked-log.ts";
import type { PostgresStatement } from "./pool.ts";

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

export function appendStatement(
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
