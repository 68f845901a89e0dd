// The statements of the log store. Parameters 1 to 3 are the companion, the collection and the key.
import type { IndexedRecord } from "./indexed-batch.ts";
import type { PostgresStatement } from "./pool.ts";

const where = "where companion = $1 and collection = $2 and key = $3";

/** Batches of up to so many records have a statement of their own, whose plan is made once. */
const mostPlain = 8;

/** One list of rows for up to `mostPlain` records, four arrays for more. From parameter 11. */
function recordRows(count: number): string {
  if (count > mostPlain) {
    return `unnest($11::text[], $12::text[], $13::text[], $14::text[])
    with ordinality as each (id, body, hides, words, n)`;
  }
  const rows = Array.from({ length: count }, (_, i) => {
    const [id, body, hides, words] = [0, 1, 2, 3].map((column) => `$${11 + 4 * i + column}::text`);
    return `(${id}, ${body}, ${hides}, ${words}, ${i + 1})`;
  });
  return `(values ${rows.join(", ")}) as each (id, body, hides, words, n)`;
}

/**
 * Appends in one statement. Parameters 4 to 8: count, head, sorted_at, labels, whether they replace; 9:
 * expected seq; 10: epoch; then the records. A log that must be there is updated, and a row that is
 * only a lease makes a log of no records; otherwise a log is made. Answers the seq of each record, or
 * nothing when it stored nothing. Lexemes hold nothing that the text of a `tsvector` treats as special.
 */
function appendText(count: number, mayCreate: boolean): string {
  const create = `insert into throughline.logs as old
    (companion, collection, key, seq, head, sorted_at, labels)
  values ($1, $2, $3, $4::bigint, $5, $6, $7)
  on conflict (companion, collection, key) do update set seq = old.seq + excluded.seq,
    head = case when $8 or old.seq = 0 then excluded.head else old.head end,
    sorted_at = case when $8 or old.seq = 0 then excluded.sorted_at else old.sorted_at end,
    labels = case when $8 or old.seq = 0 then excluded.labels else old.labels end
  where ($9::bigint is null or old.seq = $9) and ($10::bigint is null or old.epoch = $10)`;
  const update = `update throughline.logs set seq = seq + $4::bigint,
    head = case when $8 or seq = 0 then $5 else head end,
    sorted_at = case when $8 or seq = 0 then $6 else sorted_at end,
    labels = case when $8 or seq = 0 then $7 else labels end
  ${where} and ($9::bigint is null or seq = $9) and ($10::bigint is null or epoch = $10)`;
  return `with log as (
  ${mayCreate ? create : update}
  returning seq
) insert into throughline.records (companion, collection, key, seq, id, body, hides, words)
  select $1, $2, $3, log.seq - $4 + each.n, each.id, each.body, each.hides, each.words::tsvector
  from log, ${recordRows(count)}
  returning seq`;
}

const appendStatements = new Map<string, PostgresStatement>();

/** The statement for so many records, made once. */
export function appendStatementOf(count: number, mayCreate: boolean): PostgresStatement {
  const name = `throughline_append_${mayCreate ? "new_" : ""}${count > mostPlain ? "many" : count}`;
  const known = appendStatements.get(name);
  if (known !== undefined) return known;
  const made = { name, text: appendText(count, mayCreate) };
  appendStatements.set(name, made);
  return made;
}

/** The parameters of records, as that statement takes them. */
export function recordValues(records: readonly IndexedRecord[]): unknown[] {
  if (records.length > mostPlain) {
    return [
      records.map(({ id }) => id),
      records.map(({ json }) => json),
      records.map(({ hides }) => hides),
      records.map(({ words }) => words),
    ];
  }
  return records.flatMap(({ id, json, hides, words }) => [id, json, hides, words]);
}

export const logStatements = {
  lock: {
    name: "throughline_log_lock",
    text: `select seq, epoch, owner is not null as held from throughline.logs ${where} for update`,
  },
  create: {
    text: `insert into throughline.logs (companion, collection, key, seq, head, sorted_at, labels)
  values ($1, $2, $3, 0, '{}', '', '{}') on conflict do nothing`,
  },
  known: {
    name: "throughline_records_known",
    text: `select id, seq, body, hides from throughline.records ${where} and id = any($4::text[])`,
  },
  /** Records up to parameter 5 are not found any more. */
  hide: {
    text: `update throughline.records set words = null ${where} and id = any($4::text[])
  and seq <= $5`,
  },
  erase: {
    text: `update throughline.records set body = each.body, hides = null, words = null
  from unnest($4::bigint[], $5::text[]) as each (seq, body)
  ${where} and records.seq = each.seq`,
  },
  /** Of these records, those that no later one hides. */
  unhidden: {
    text: `select seq, body from throughline.records as shown ${where} and id = any($4::text[])
  and not exists (select 1 from throughline.records as hiding ${where}
    and hiding.hides = shown.id and hiding.seq > shown.seq)`,
  },
  setWords: {
    text: `update throughline.records
  set words = $5::text::tsvector ${where} and seq = $4`,
  },
  setHead: {
    text: `update throughline.logs set head = $4, sorted_at = $5, labels = $6 ${where}`,
  },
  deleteRecords: {
    text: `delete from throughline.records ${where} and seq <= $4`,
  },
  deleteLog: { text: `delete from throughline.logs ${where}` },
  /** What is left is the lease. */
  emptyLog: {
    text: `update throughline.logs set seq = 0, head = '{}', sorted_at = '', labels = '{}',
  created_at = clock_timestamp() ${where}`,
  },
  /** The head first, then the newest records, oldest first; from one snapshot. */
  tail: {
    name: "throughline_tail",
    text: `select seq, head as body, 0 as part from throughline.logs ${where} and seq > 0
  union all (select seq, body, 1 from throughline.records ${where} order by seq desc limit $4)
  order by part, seq`,
  },
  pageAfter: {
    name: "throughline_page_after",
    text: `select seq, body from throughline.records ${where} and seq > $4 order by seq limit $5`,
  },
  pageBefore: {
    name: "throughline_page_before",
    text: `select seq, body from (
    select seq, body from throughline.records ${where} and seq < $4 order by seq desc limit $5
  ) as newest order by seq`,
  },
  find: {
    name: "throughline_find",
    text: `select seq, body from throughline.records ${where} and id = $4`,
  },
  /** What reading begins with: where the log ends, and which log it is. */
  extent: {
    name: "throughline_extent",
    text: `select seq, (extract(epoch from created_at) * 1000000)::bigint as born
  from throughline.logs ${where} and seq > 0`,
  },
  /** The next records up to parameter 5, as many as 6 bytes hold and one; none of another log. */
  chunk: {
    name: "throughline_chunk",
    text: `select seq, body from (
    select seq, body, sum(octet_length(body)) over (order by seq) - octet_length(body) as before
    from (select seq, body from throughline.records ${where} and seq > $4 and seq <= $5
      order by seq limit 500) as next
  ) as measured where before < $6 and exists (select 1 from throughline.logs ${where}
    and (extract(epoch from created_at) * 1000000)::bigint = $7)
  order by seq`,
  },
} as const;
