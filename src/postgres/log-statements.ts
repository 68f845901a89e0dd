// The statements of the log store. Parameters 1 to 3 are the companion, the collection and the key.
const where = "where companion = $1 and collection = $2 and key = $3";

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
  and seq <= $5 and words is not null`,
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
