// The statements of lists and of search. Parameters 1 and 2 are the companion and the collection.
import type { PostgresStatement } from "./pool.ts";
import { logLexemeSql } from "./words.ts";

const where = "where companion = $1 and collection = $2 and seq > 0";
const order = "order by sorted_at desc, key limit $3";

/**
 * One page of a list. Parameter 3 is the limit; then the label, if there is one, then the place to go
 * on after. Two ranges of the index, so that no page costs more than the first.
 */
export function listStatement(given: {
  readonly label: boolean;
  readonly place: boolean;
}): Omit<PostgresStatement, "values"> {
  const columns = "select key, seq, head, sorted_at from throughline.logs";
  const label = given.label ? " and labels <> '{}' and labels @> array[$4::text]" : "";
  const name = `throughline_list${given.label ? "_label" : ""}${given.place ? "_next" : ""}`;
  if (!given.place) return { name, text: `${columns} ${where}${label} ${order}` };
  const [sortedAt, key] = given.label ? ["$5", "$6"] : ["$4", "$5"];
  return {
    name,
    text: `select * from (
    (${columns} ${where}${label} and sorted_at = ${sortedAt} and key > ${key} ${order})
    union all
    (${columns} ${where}${label} and sorted_at < ${sortedAt} ${order})
  ) as page ${order}`,
  };
}

/** So many of the newest logs are looked through first: a common word is in nearly every log. */
const newestLogs = 16;

/**
 * Records whose words fit this query, which names their place. The index is asked before anything else:
 * a planner that may choose reads whole logs, of which it expects little.
 */
const worded = (query: string, columns = "key, seq, body") => `select ${columns} from (
      select * from throughline.records where words @@ ${query}::tsquery offset 0
    ) as record where true`;

/** Records of the newest logs that can hold the words. 3: limit; 4: the scope; 5: the query. */
export const searchNewest: PostgresStatement = {
  text: `select log.key, log.sorted_at, hit.seq, hit.body from (
    select companion, collection, key, sorted_at from throughline.logs ${where}
    order by sorted_at desc, key limit ${newestLogs}
  ) as log cross join lateral (
    ${worded(`($5 || ' & ''' || ${logLexemeSql("$4::text")} || '''')`)}
      and record.companion = log.companion and record.collection = log.collection
      and record.key = log.key order by seq desc limit $3
  ) as hit order by log.sorted_at desc, log.key, hit.seq desc limit $3`,
};

/**
 * Records of the collection that can hold the words. 3: limit; 4: the query; 5 to 7: the place to go on
 * after. The index is asked first and alone: a planner that knows of the limit walks through all logs.
 */
export function searchStatement(given: { readonly place: boolean }): PostgresStatement {
  const place = `and log.sorted_at <= $5 and (log.sorted_at < $5
      or hit.key > $6 or (hit.key = $6 and hit.seq < $7))`;
  return {
    text: `with hit as materialized (
    ${worded("$4", "key, seq")} and companion = $1 and collection = $2
  ), page as (
    select hit.*, log.sorted_at from hit cross join lateral (
      select key, sorted_at from throughline.logs
      where companion = $1 and collection = $2 and logs.key >= hit.key order by key limit 1
    ) as log where log.key = hit.key ${given.place ? place : ""} order by log.sorted_at desc, hit.key, hit.seq desc limit $3
  ) select key, sorted_at, seq, body from page cross join lateral (
      select seq as found, body from throughline.records where companion = $1 and collection = $2
        and records.key = page.key and records.seq >= page.seq order by records.seq limit 1
    ) as record where found = seq order by sorted_at desc, key, seq desc`,
  };
}

/** Records of one log that can hold the words. 3: limit; 4: the query; 5: the log; 6: before this seq. */
export const searchLog: PostgresStatement = {
  text: `${worded("$4")} and companion = $1 and collection = $2 and key = $5 and seq < $6
    order by seq desc limit $3`,
};
