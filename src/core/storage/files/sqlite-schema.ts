// Tables and statements of `index.db`. The schema may change with every release: a file of another
// version is thrown away and filled again from the logs.
import type { DatabaseSync, StatementSync } from "node:sqlite";

/** Raise it whenever a table, a projection or the way that words are taken from a text changes. */
export const schemaVersion = 5;

/** The collection in which rows of removed logs wait for their end. No folder can have this name. */
export const removedLogs = "/dropped";

/** Records of a removed log that are removed at a time: some milliseconds. */
export const removedAtOnce = 1_000;

// `state.clean`: the last process closed the index itself. `forgotten`: bytes of removed logs are still in
// the file. `mark`: a position in the journal, all before it is in the rows. `boot`: the run of the machine
// in which every log was verified. `covered` names the collections whose logs all have a row, but for what
// the journal holds; `changed` is when the directory last changed, if that was noted at a clean end.
// `logs.head` is last and may be long: what lists and searches sort by is read without it. `place`
// is the newest row of `places`.
const tables = `
  create table state (
    clean integer not null, forgotten integer not null, mark integer not null, boot text
  );
  insert into state values (0, 0, 0, null);
  create table covered (collection text primary key, changed text) without rowid;
  create table logs (
    id integer primary key,
    collection text not null,
    key text not null,
    sorted_at text not null,
    seq integer not null,
    end_offset integer not null,
    crc text not null,
    damaged integer not null,
    place integer not null,
    labels text not null,
    head text not null,
    unique (collection, key)
  );
  create index logs_sorted on logs (collection, sorted_at desc, key);
  create table labels (
    collection text not null,
    label text not null,
    sorted_at text not null,
    key text not null,
    log integer not null,
    primary key (collection, label, sorted_at desc, key)
  ) without rowid;
  create table ids (
    log integer not null,
    id text not null,
    seq integer not null,
    start integer not null,
    primary key (log, id)
  ) without rowid;
  create table places (
    log integer not null,
    seq integer not null,
    start integer not null,
    primary key (log, seq)
  ) without rowid;
  pragma user_version = ${schemaVersion};
`;

// Rows are found by log and record: log * 2^31 + seq. The words are not kept as text, only as what
// the search needs. Tokens hold no ASCII but letters and digits, so that this tokenizer splits them
// at the spaces between them and nowhere else.
const wordTable = `
  create virtual table words using fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'ascii'
  );
`;

/** The file does not hold what was written to it: it is deleted and recreated. */
export class IndexDamage extends Error {}

export function createSchema(database: DatabaseSync): void {
  database.exec(`begin; ${tables} ${wordTable} commit`);
}

export type Statements = ReturnType<typeof prepareStatements>;

// Shifting makes whole numbers: JavaScript's are bound as reals, which the full-text index does not
// take as bounds of what it reads. `cross join` keeps the order: first what was looked for, then its log.
const firstRow = "(? << 31)";
const row = "((? << 31) | ?)";
const lastRow = "((? << 31) | 2147483647)";
const rowColumns = "logs.key, logs.sorted_at, logs.seq, logs.damaged, logs.head";

/**
 * Statements on the words are prepared when they are first used: loading the full-text index is nothing
 * that a start should wait for.
 *
 * @throws an error of SQLite when the tables are not those of `createSchema`.
 */
export function prepareStatements(database: DatabaseSync) {
  const sql = (text: string) => database.prepare(text);
  const tableNames = sql("select count(*) as count from sqlite_schema where name = ?");
  if (tableNames.get("words")?.["count"] !== 1) throw new Error("there is no table of words");
  return {
    state: sql("select clean, forgotten, mark, boot from state"),
    changes: sql("select total_changes() as changes"),
    setClean: sql("update state set clean = ?"),
    setForgotten: sql("update state set forgotten = ?"),
    setMark: sql("update state set mark = ?"),
    setBoot: sql("update state set boot = ?"),
    covered: sql("select collection, changed from covered"),
    cover: sql("insert or replace into covered values (?, ?)"),
    uncover: sql("delete from covered where collection = ?"),

    logOf: sql(`
      select id, seq, end_offset, crc, sorted_at, place, labels, damaged from logs
      where collection = ? and key = ?
    `),
    headOf: sql("select seq, end_offset, crc, head from logs where collection = ? and key = ?"),
    collections: sql("select distinct collection from logs where collection <> ?"),
    keys: sql("select key from logs where collection = ? and key > ? order by key limit ?"),
    addLog: sql(`insert into logs values (null, ?, ?, '', 0, 0, '', 0, -1, '[]', '{}')`),
    updateLog: sql(`
      update logs set sorted_at = ?, seq = ?, end_offset = ?, crc = ?, damaged = ?, place = ?,
        labels = ?, head = ? where id = ?
    `),
    addLabel: sql("insert or replace into labels values (?, ?, ?, ?, ?)"),
    removeLabel: sql(`
      delete from labels where collection = ? and label = ? and sorted_at = ? and key = ?
    `),
    addId: sql("insert or replace into ids values (?, ?, ?, ?)"),
    find: sql("select seq, start from ids where log = ? and id = ?"),
    addPlace: sql("insert or replace into places values (?, ?, ?)"),
    seek: sql(`
      select places.start as start from logs cross join places on places.log = logs.id
      where logs.collection = ? and logs.key = ? and places.seq <= ?
      order by places.seq desc limit 1
    `),

    words: whenUsed(() => wordStatements(sql)),

    /** The row of a removed log stays until everything that hangs on it is gone: see `removedLogs`. */
    moveToRemoved: sql(
      "update logs set collection = ?, key = ?, sorted_at = '', head = '{}' where id = ?",
    ),
    removedLog: sql("select id, key, seq from logs where collection = ? limit 1"),
    /** The records after this number are gone. */
    shortenLog: sql("update logs set seq = ? where id = ?"),
    removeIds: sql(`
      delete from ids where log = ?1
        and id in (select id from ids where log = ?1 limit ${removedAtOnce})
    `),
    removePlaces: sql("delete from places where log = ?"),
    removeLog: sql("delete from logs where id = ?"),

    list: sql(`
      select ${rowColumns} from logs
      where collection = ?1 and sorted_at <= ?2 and (sorted_at < ?2 or key > ?3)
      order by sorted_at desc, key limit ?4
    `),
    firstRows: sql(`
      select ${rowColumns} from logs where collection = ? order by sorted_at desc, key limit ?
    `),
    listLabel: sql(`
      select ${rowColumns} from labels cross join logs on logs.id = labels.log
      where labels.collection = ?1 and labels.label = ?2 and labels.sorted_at <= ?3
        and (labels.sorted_at < ?3 or labels.key > ?4)
      order by labels.sorted_at desc, labels.key limit ?5
    `),
    firstRowsOfLabel: sql(`
      select ${rowColumns} from labels cross join logs on logs.id = labels.log
      where labels.collection = ? and labels.label = ?
      order by labels.sorted_at desc, labels.key limit ?
    `),
  };
}

function wordStatements(sql: (text: string) => StatementSync) {
  return {
    add: sql(`insert or replace into words (rowid, text) values (${row}, ?)`),
    remove: sql(`delete from words where rowid = ${row}`),
    /** Those of the records after one number. */
    removeAfter: sql(`delete from words where rowid > ${row} and rowid <= ${lastRow}`),
    /** Removing does not merge by itself, which would take as long as there are words. */
    removeAlone: sql("insert into words (words, rank) values ('deletemerge', 0)"),
    /** A slice of making one segment of all, without what was deleted; the first one has a negative rank. */
    merge: sql("insert into words (words, rank) values ('merge', ?)"),
    searchLog: sql(`
      select rowid & 2147483647 as seq from words
      where words match ? and rowid between ${firstRow} and ${lastRow}
      order by rowid desc limit ?
    `),
    searchAll: sql(`
      select logs.key as key, hit & 2147483647 as seq
      from (select rowid as hit from words where words match ?1) cross join logs on logs.id = hit >> 31
      where logs.collection = ?2 order by logs.sorted_at desc, logs.key, seq desc
    `),
  };
}

function whenUsed<T>(prepare: () => T): () => T {
  let prepared: T | undefined;
  return () => {
    try {
      prepared ??= prepare();
    } catch (cause) {
      throw new IndexDamage("the full-text index cannot be loaded", { cause });
    }
    return prepared;
  };
}
