import type { Migration } from "./migrations.ts";

/**
 * Words are stored after the append. Records of a log after `unindexed_after` may have none yet, and
 * search reads those itself; null: all have theirs. Code that does not know the column stores the words
 * of what it appends. Past the end of a log it says nothing: see `append-statement.ts`.
 *
 * The index of the words leaves out what has none, so that an append does not write to it. It is
 * rebuilt, and first: while it is built appends wait, and reads do not.
 */
export const unindexed: Migration = {
  number: 3,
  name: "003-unindexed",
  worksFrom: 1,
  statements: [
    `create index records_worded on throughline.records using gin (words)
  where words is not null`,
    "drop index throughline.records_words",
    "alter table throughline.logs add column unindexed_after bigint",
    `create index logs_unindexed on throughline.logs
  (companion, collection) where unindexed_after is not null`,
  ],
};
