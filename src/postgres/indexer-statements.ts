// The statements that store the words of records after their append. Parameters 1 and 2 are the
// companion and the collection.

const where = "where companion = $1 and collection = $2";

/** Which log it is of those that had its key. */
const born = "(extract(epoch from created_at) * 1000000)::bigint as born";

export const indexerStatements = {
  /** How many records search would have to read. */
  count: {
    name: "throughline_unindexed_count",
    text: `select coalesce(sum(greatest(seq - unindexed_after, 0)), 0)::float8 as count
  from throughline.logs ${where} and unindexed_after is not null`,
  },
  /** Up to parameter 3 logs with records without words. */
  logs: {
    name: "throughline_unindexed_logs",
    text: `select key, seq, unindexed_after, ${born} from throughline.logs ${where}
    and unindexed_after is not null limit $3`,
  },
  /**
   * Records of those logs (3: keys, 4: after which seq, 5: up to which) without words, log by log; at
   * most 6 of them, and as many as 7 bytes hold and one. `found`: how many there would be without that.
   */
  records: {
    name: "throughline_unindexed_records",
    text: `select n::int, seq, body, found::int from (
    select each.n, record.seq, record.body, count(*) over () as found,
      sum(octet_length(record.body)) over (order by each.n, record.seq)
        - octet_length(record.body) as before
    from unnest($3::text[], $4::bigint[], $5::bigint[])
      with ordinality as each (key, after, until, n)
      cross join lateral (
        select seq, body from throughline.records ${where} and records.key = each.key
          and seq > each.after and seq <= each.until and words is null
        order by seq limit $6
      ) as record
    order by each.n, record.seq limit $6
  ) as measured where before < $7 order by n, seq`,
  },
  /**
   * Keeps these logs (3: keys) from writers until the transaction ends; those that are being
   * written are passed over. Not synced: a crash of the database that undoes the words undoes that they
   * were noted, too.
   */
  lock: {
    name: "throughline_unindexed_lock",
    text: `select log.*, set_config('synchronous_commit', 'off', true)
  from unnest($3::text[]) as each (key) cross join lateral (
    select key, seq, unindexed_after, ${born} from throughline.logs ${where}
      and logs.key = each.key for update skip locked
  ) as log`,
  },
  /**
   * 3 to 6: keys, seqs, bodies, words of records; 7 and 8: the logs, and after which seq words are missing
   * now. What was erased since it was read has another body; what a later record hides has no words.
   * Rows are looked up one by one, in the order of the primary key: a planner that may join them, and
   * knows no better, reads the whole collection.
   */
  store: {
    name: "throughline_unindexed_store",
    text: `with record as (
  select found.ctid as place, each.words
  from unnest($3::text[], $4::bigint[], $5::text[], $6::text[]) as each (key, seq, body, words)
    cross join lateral (
      select ctid, id, seq, body from throughline.records ${where}
        and records.key = each.key and seq >= each.seq order by seq limit 1
    ) as found
  where found.seq = each.seq and found.body = each.body
    and not exists (
      select 1 from throughline.records as hiding ${where}
        and hiding.key = each.key and hiding.hides = found.id and hiding.seq > found.seq offset 0)
), indexed as (
  update throughline.records set words = record.words::tsvector from record where ctid = place
), log as (
  select found.ctid as place, each.after
  from unnest($7::text[], $8::bigint[]) as each (key, after) cross join lateral (
    select ctid from throughline.logs ${where} and logs.key = each.key limit 1
  ) as found
)
update throughline.logs set unindexed_after = log.after from log where ctid = place`,
  },
} as const;
