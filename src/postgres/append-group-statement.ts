// The one statement of several appends to one collection. Parameters 1 and 2 are the companion and the
// collection; 3 to 10 have an element for each append, 11 to 14 one for each record. Many JSON texts are
// one text of as many lines: in an array each quote would be escaped here, and read again there.
import type { IndexedBatch } from "./indexed-batch.ts";
import type { LogTarget } from "./locked-log.ts";
import type { PostgresStatement } from "./pool.ts";

/** What one append wants. */
export interface WantedAppend {
  readonly target: LogTarget;
  readonly batch: IndexedBatch;
}

/**
 * A log that is not there yet, does not end as expected, is held under another epoch or is being written is
 * passed over: no append waits for a log of another. Logs are looked up one by one, because a planner
 * that may join them, and knows no better, reads the whole collection. What is set is what the statement
 * of one append sets.
 */
const text = `with locked as (
  select wanted.*, log.place from unnest($3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
    string_to_array($7::text, e'\\n', ''), $8::text[], $9::text[], $10::boolean[]) with ordinality
    as wanted (key, count, expected, epoch, head, sorted_at, labels, is_searchable, n)
  cross join lateral (
    select ctid as place from throughline.logs as old
    where old.companion = $1 and old.collection = $2 and old.key = wanted.key
      and old.seq > 0 and (wanted.expected is null or old.seq = wanted.expected)
      and (wanted.epoch is null or old.epoch = wanted.epoch)
    for update skip locked
  ) as log
), log as (
  update throughline.logs as old set seq = old.seq + locked.count,
    head = coalesce(locked.head, old.head),
    sorted_at = coalesce(locked.sorted_at, old.sorted_at),
    labels = coalesce(locked.labels::text[], old.labels),
    unindexed_after = case when locked.is_searchable
      then least(old.unindexed_after, old.seq) else old.unindexed_after end
  from locked where old.ctid = locked.place
  returning locked.n, old.key, old.seq, old.seq - locked.count as before
), stored as (
  insert into throughline.records (companion, collection, key, seq, id, body)
  select $1, $2, log.key, log.before + record.i, record.id, record.body
  from log join unnest($11::bigint[], $12::bigint[], $13::text[], string_to_array($14::text, e'\\n'))
    as record (n, i, id, body) on record.n = log.n
) select n::int, seq from log`;

/** Answers, for each append that it stored, its number from 1 and the seq of its last record. */
export function appendGroupStatement(
  companion: string,
  collection: string,
  appends: readonly WantedAppend[],
): PostgresStatement {
  const heads = appends.map(({ batch }) => (batch.replacesHead ? batch.head : undefined));
  const records = appends.flatMap(({ batch }, append) =>
    batch.records.map(({ id, json }, i) => ({ append: append + 1, i: i + 1, id, json })),
  );
  const values = [
    ...[companion, collection],
    appends.map(({ target }) => target.place[2]),
    appends.map(({ batch }) => batch.records.length),
    appends.map(({ batch }) => batch.expectedSeq ?? null),
    appends.map(({ target }) => target.epoch ?? null),
    heads.map((head) => head?.json ?? "").join("\n"),
    heads.map((head) => head?.sortedAt ?? null),
    heads.map((head) => (head === undefined ? null : arrayText(head.labels))),
    appends.map(({ batch }) => batch.isSearchable),
    records.map(({ append }) => append),
    records.map(({ i }) => i),
    records.map(({ id }) => id),
    records.map(({ json }) => json).join("\n"),
  ];
  return { name: "throughline_append_group", text, values };
}

/** An array of texts as the database reads it: `unnest` takes none of arrays of different lengths. */
function arrayText(texts: readonly string[]): string {
  return `{${texts.map((each) => `"${each.replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`;
}
