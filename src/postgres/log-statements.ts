// The statements of the log store. Parameters 1 to 3 are the companion, the collection and the key.
const where = "where companion = $1 and collection = $2 and key = $3";

/**
 * Looks up the record with this id or number for each row of `each`, as `found`. Asking for the first
 * one in the order of the index leaves the planner no other: it expects few records in a log, and would
 * read them all.
 */
const lookUp = (column: "id" | "seq", columns: string) => `cross join lateral (
    select ${columns} from throughline.records ${where} and records.${column} >= each.${column}
    order by records.${column} limit 1
  ) as found where found.${column} = each.${column}`;

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
    text: `select found.* from unnest($4::text[]) as each (id) ${lookUp("id", "id, seq, body, hides")}`,
  },
  /** Records up to parameter 5 are not found any more. */
  hide: {
    text: `update throughline.records set words = null
  from unnest($4::text[]) as each (id) ${lookUp("id", "ctid as place, id, seq")}
  and ctid = place and found.seq <= $5 and words is not null`,
  },
  erase: {
    text: `update throughline.records set body = each.body, hides = null, words = null
  from unnest($4::bigint[], $5::text[]) as each (seq, body) ${lookUp("seq", "ctid as place, seq")}
  and ctid = place`,
  },
  /** Of these records, those that no later one hides. */
  unhidden: {
    text: `select found.* from unnest($4::text[]) as each (id) ${lookUp("id", "id, seq, body")}
  and not exists (select 1 from throughline.records as hiding ${where}
    and hiding.hides = found.id and hiding.seq > found.seq offset 0)`,
  },
  setWords: {
    text: `update throughline.records set words = $5::text::tsvector
  from (select $4::bigint as seq) as each ${lookUp("seq", "ctid as place, seq")} and ctid = place`,
  },
  setHead: {
    text: `update throughline.logs set head = $4, sorted_at = $5, labels = $6 ${where}`,
  },
  deleteRecords: {
    text: `delete from throughline.records where ctid = any(array(
    select ctid from throughline.records ${where} and seq <= $4 order by seq))`,
  },
  deleteLog: { text: `delete from throughline.logs ${where}` },
  /** What is left is the lease. */
  emptyLog: {
    text: `update throughline.logs set seq = 0, head = '{}', sorted_at = '', labels = '{}',
  created_at = clock_timestamp() ${where}`,
  },
  /** The head first, then the newest records as of a page, oldest first; from one snapshot. */
  tail: {
    name: "throughline_tail",
    text: `select seq, head as body, 0 as part from throughline.logs ${where} and seq > 0
  union all select seq, body, 1 from (
    select seq, body, sum(octet_length(body)) over (order by seq desc) - octet_length(body) as nearer
    from (select seq, body from throughline.records ${where} order by seq desc limit $4) as asked
  ) as measured where nearer < $5
  order by part, seq`,
  },
  /** Each page ends where the records that are nearer to its beginning hold so many bytes. */
  pageAfter: {
    name: "throughline_page_after",
    text: `select seq, body from (
    select seq, body, sum(octet_length(body)) over (order by seq) - octet_length(body) as nearer
    from (select seq, body from throughline.records ${where} and seq > $4
      order by seq limit $5) as asked
  ) as measured where nearer < $6 order by seq`,
  },
  pageBefore: {
    name: "throughline_page_before",
    text: `select seq, body from (
    select seq, body, sum(octet_length(body)) over (order by seq desc) - octet_length(body) as nearer
    from (select seq, body from throughline.records ${where} and seq < $4
      order by seq desc limit $5) as asked
  ) as measured where nearer < $6 order by seq`,
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
