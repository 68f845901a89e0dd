// The file `index.db`: its tables and statements, and how it is made, opened and removed. With node:sqlite and
// node:fs on the real files and not the Disk port, because SQLite does so too. The schema may change with every
// release: a file of another version is thrown away and filled again from the logs.
import fs from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { unavailable } from "../../errors.ts";
import { syncDirectoryNow } from "../disk/disk.ts";

/** Raise it whenever a table, a projection or the way that words are taken from a text changes. */
const schemaVersion = 10;

// `state.clean`: the last process closed the index itself. `forgotten`: bytes of removed logs are still in
// the file. `nth`, `mark`: a place in the journal, all before it is in the rows. `covered` names the collections whose logs all have a row, but for what
// the journal holds; `changed` is when the directory last changed, if that was noted at a clean end.
// `logs.path` is that of the log's file in the home. `logs.head` is last and may be long: what lists and searches
// sort by is read without it. `place` is the newest row of `places`. Words are found by log and record: log * 2^31 + seq. They are not kept as text,
// only as what the search needs. The id of a record is one of its words, see `idToken`.
const tables = `
  create table state (
    clean integer not null, forgotten integer not null, nth integer not null, mark integer not null
  );
  insert into state values (0, 0, 0, 0);
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
    path text not null,
    head text not null,
    unique (collection, path)
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
  create table places (
    log integer not null,
    seq integer not null,
    start integer not null,
    primary key (log, seq)
  ) without rowid;
  create virtual table words using fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'ascii'
  );
  pragma user_version = ${schemaVersion};
`;

/** The file does not hold what was written to it: it is deleted and recreated. */
export class IndexDamage extends Error {}

export interface OpenDatabase {
  readonly database: DatabaseSync;
  /** It stands in for a file that the disk does not take. */
  readonly isInMemory: boolean;
  readonly sql: Statements;
}

// Shifting makes whole numbers: JavaScript's are bound as reals, which the full-text index does not
// take as bounds of what it reads. `cross join` keeps the order: first what was looked for, then its log.
const rowsOfLog = "rowid between (? << 31) and ((? << 31) | 2147483647)";
const rowColumns = "logs.key, logs.sorted_at, logs.seq, logs.damaged, logs.head";

const queries = {
  state: "select clean, forgotten, nth, mark from state",
  setClean: "update state set clean = ?",
  setForgotten: "update state set forgotten = ?",
  setMark: "update state set nth = ?, mark = ?",
  covered: "select collection, changed from covered",
  cover: "insert or replace into covered values (?, ?)",
  uncover: "delete from covered where collection = ?",
  logOf: `
    select id, key, seq, end_offset, crc, sorted_at, place, labels, damaged from logs
    where collection = ? and path = ?
  `,
  keys: "select key, path from logs where collection = ? and path > ? order by path limit ?",
  addLog: `insert into logs values (null, ?, ?, '', 0, 0, '', 0, -1, '[]', ?, '{}')`,
  updateLog: `
    update logs set sorted_at = ?, seq = ?, end_offset = ?, crc = ?, damaged = ?, place = ?,
      labels = ?, head = ? where id = ?
  `,
  cut: "update logs set end_offset = 0, crc = '' where id = ?",
  markDamaged: "update logs set damaged = 1 where id = ?",
  addLabel: "insert or replace into labels values (?, ?, ?, ?, ?)",
  removeLabel: `
    delete from labels where collection = ? and label = ? and sorted_at = ? and key = ?
  `,
  addPlace: "insert or replace into places values (?, ?, ?)",
  seek: `
    select places.start as start from logs cross join places on places.log = logs.id
    where logs.collection = ? and logs.path = ? and places.seq <= ?
    order by places.seq desc limit 1
  `,
  removePlaces: "delete from places where log = ?",
  removeLog: "delete from logs where id = ?",
  list: `
    select ${rowColumns} from logs
    where collection = ?1 and sorted_at <= ?2 and (sorted_at < ?2 or key > ?3)
    order by sorted_at desc, key limit ?4
  `,
  listLabel: `
    select ${rowColumns} from labels cross join logs on logs.id = labels.log
    where labels.collection = ?1 and labels.label = ?2 and labels.sorted_at <= ?3
      and (labels.sorted_at < ?3 or labels.key > ?4)
    order by labels.sorted_at desc, labels.key limit ?5
  `,
  addWords: "insert or replace into words (rowid, text) values (((? << 31) | ?), ?)",
  removeWords: `delete from words where ${rowsOfLog}`,
  /** Removing does not merge by itself, which would take as long as there are words. */
  removeWordsAlone: "insert into words (words, rank) values ('deletemerge', 0)",
  /** Makes one segment of all, without what was deleted. */
  mergeWords: "insert into words (words) values ('optimize')",
  searchLog: `
    select rowid & 2147483647 as seq from words where words match ? and ${rowsOfLog}
    order by rowid desc limit ?
  `,
  searchAll: `
    select logs.key as key, hit & 2147483647 as seq
    from (select rowid as hit from words where words match ?1) cross join logs on logs.id = hit >> 31
    where logs.collection = ?2 order by logs.sorted_at desc, logs.key, seq desc limit ?3
  `,
} as const;

/** An instant for `list` that is past all others, as bytes are past all texts. */
export const pastAll = new Uint8Array();

export type Statements = Readonly<Record<keyof typeof queries, StatementSync>>;

/**
 * Each is prepared when it is first used: a start needs few of them, and should not wait for the full-text index.
 *
 * @throws an error of SQLite when there is no table of words.
 */
function statementsOf(database: DatabaseSync): Statements {
  const names = database.prepare("select count(*) as count from sqlite_schema where name = ?");
  if (names.get("words")?.["count"] !== 1) throw new Error("there is no table of words");
  const statements = {};
  for (const [name, text] of Object.entries(queries)) {
    const prepare = () => {
      const value = database.prepare(text);
      Object.defineProperty(statements, name, { value });
      return value;
    };
    Object.defineProperty(statements, name, { get: prepare, configurable: true });
  }
  return statements as Statements;
}

/**
 * The id of a record as a word that no text can hold. Ids that differ make words that differ: what the full-text
 * index would fold or split is spelled out.
 */
export function idToken(id: string): string {
  const spelled = id.replace(
    /[^a-z0-9]/gu,
    (sign) => `\uE001${sign.codePointAt(0)?.toString(36)}\uE002`,
  );
  return `\uE000${spelled}`;
}

/**
 * Opens an index of this version in a file that is ours alone.
 *
 * @param isChecked what it holds is checked: the last process did not close it.
 * @returns `undefined` when there is none; what is there instead is of no use.
 */
export function openIndexFile(path: string, isChecked = false): OpenDatabase | undefined {
  let database: DatabaseSync | undefined;
  try {
    if (!isOwnFile(path) || !sideFiles(path).every(isFileOrNothing)) return undefined;
    database = new DatabaseSync(path);
    configure(database);
    const version = database.prepare("pragma user_version").get()?.["user_version"];
    if (version === schemaVersion) {
      const sql = statementsOf(database);
      const isUnsure = isChecked && sql.state.get()?.["clean"] !== 1;
      if (!isUnsure || isSound(database)) return { database, sql, isInMemory: false };
    }
  } catch {
    // Damaged, locked, unreadable: whatever it is, the logs have everything that was in it.
  }
  database?.close();
  return undefined;
}

/** A file that is longer is checked in the background: it takes too long for a start. */
const checkedBytes = 1024 * 1024;

function isSound(database: DatabaseSync): boolean {
  const size = database.prepare(
    "select page_count * page_size as size from pragma_page_count, pragma_page_size",
  );
  if (Number(size.get()?.["size"]) > checkedBytes) return true;
  return quickCheck(database);
}

/** Whether SQLite finds nothing wrong with its pages. */
export function quickCheck(database: DatabaseSync): boolean {
  return database.prepare("pragma quick_check(1)").get()?.["quick_check"] === "ok";
}

// One thread reads while another writes: each waits for the other's short locks. Normal: the file is synced
// before pages are moved into it and after, so that a power cut leaves an older state of the whole, and
// forgotten bytes do not come back. It costs two syncs for every 4 MB that the index grows.
function configure(database: DatabaseSync): void {
  database.exec("pragma busy_timeout = 10000; pragma journal_mode = wal");
  database.exec("pragma synchronous = normal");
}

/**
 * Begins an empty index in the place of what is there.
 *
 * @param path `undefined`: in memory.
 * @param inMemory no file is made, and one that is there goes.
 */
export function beginIndex(path: string | undefined, inMemory = false): OpenDatabase {
  const file = path === undefined || inMemory ? undefined : createIndexFile(path);
  if (file !== undefined) return file;
  try {
    if (path !== undefined) removeLeftIndex(path);
  } catch {
    // It matters, and is said, when something is forgotten.
  }
  const database = new DatabaseSync(":memory:");
  database.exec(`begin; ${tables} commit`);
  return { database, sql: statementsOf(database), isInMemory: true };
}

/**
 * Removes what is there and creates an empty index, mode 0600. Nothing waits for it to be durable:
 * what a power cut leaves of it has no version and is recreated.
 *
 * @returns `undefined` when the disk does not take it.
 */
function createIndexFile(path: string): OpenDatabase | undefined {
  let database: DatabaseSync | undefined;
  try {
    removeIndexFile(path);
    createFile(path);
    database = new DatabaseSync(path);
    configure(database);
    database.exec(`begin; ${tables} commit`);
    return { database, sql: statementsOf(database), isInMemory: false };
  } catch {
    database?.close();
    return undefined; // full, read-only, a directory of that name: the caller does without a file
  }
}

/** Removes the file of an index that is in memory now. @throws ThroughlineError `THROUGHLINE_UNAVAILABLE` */
export function removeLeftIndex(path: string): void {
  if (fs.lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) return;
  try {
    removeIndexFile(path);
  } catch (cause) {
    const message = "the file of the index cannot be removed, and may hold what it held";
    throw unavailable(message, cause);
  }
}

/** Removes the index and everything beside it that belongs to it, durably. */
function removeIndexFile(path: string): void {
  for (const each of [...sideFiles(path), path]) fs.rmSync(each, { force: true });
  syncDirectoryNow(dirname(path));
}

/** A file with one name, made by this user; closed to others if it was not. No link is followed. */
function isOwnFile(path: string): boolean {
  const stats = fs.lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile() || stats.nlink !== 1) return false;
  if (process.getuid === undefined) return true; // Windows has neither owner nor mode of this form
  if (stats.uid !== process.getuid()) return false;
  if ((stats.mode & 0o077) !== 0) fs.chmodSync(path, 0o600);
  return true;
}

/** SQLite opens a journal that it finds, and would wait for the other end of a pipe. */
function isFileOrNothing(path: string): boolean {
  return fs.lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
}

/** SQLite takes an empty file for a database, and gives the files beside it the same mode. */
function createFile(path: string): void {
  const { O_RDWR, O_CREAT, O_EXCL } = fs.constants;
  const descriptor = fs.openSync(path, O_RDWR | O_CREAT | O_EXCL, 0o600);
  fs.fchmodSync(descriptor, 0o600); // whatever the umask
  fs.closeSync(descriptor);
}

function sideFiles(path: string): readonly string[] {
  return ["-wal", "-shm", "-journal"].map((suffix) => path + suffix);
}

/** Everything that `work` writes, or nothing. */
export function inTransaction(database: DatabaseSync, work: () => void): void {
  database.exec("begin immediate");
  try {
    work();
    database.exec("commit");
  } catch (error) {
    try {
      database.exec("rollback");
    } catch {
      // Some failures end the transaction by themselves. The first error is the news.
    }
    throw error;
  }
}

/** The same, durable before everything that follows, and only after everything that went before. */
export function durably(database: DatabaseSync, work: () => void): void {
  database.exec("pragma synchronous = full");
  try {
    inTransaction(database, work);
  } finally {
    database.exec("pragma synchronous = normal");
  }
}

/** Parses JSON that was written to the index. What is no JSON now is damage. */
export function parseStored<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    // Not thrown from here, with the error as its cause: the message of that quotes the text.
  }
  throw new IndexDamage("a row of the index is not JSON");
}

/** The disk has no room for more, something is in use for now, or the file is of no use. */
export type Fault = "full" | "busy" | "useless";

/** SQLite's code for a full disk. */
const full = 13;
/** Its codes for what is in use: nothing is thrown away for it. */
const busy: ReadonlySet<number> = new Set([5, 6]);
/**
 * Its codes for a file that is of no use: words that cannot be loaded, read-only or removed, I/O, corrupt, cannot
 * open, not a database.
 */
const useless: ReadonlySet<number> = new Set([1, 8, 10, 11, 14, 26]);

/** Those of the file system for what the system lacks for now: descriptors, memory. */
const passingCodes: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOMEM", "EAGAIN"]);

/** What an error says of the index: it takes nothing for now, or is of no use. `undefined`: it is no fault of the file. */
export function faultOf(error: unknown): Fault | undefined {
  if (error instanceof IndexDamage) return "useless";
  if (!(error instanceof Error)) return undefined;
  if ("errcode" in error && typeof error.errcode === "number") {
    const code = error.errcode & 0xff; // the primary code
    if (code === full) return "full";
    if (busy.has(code)) return "busy";
    return useless.has(code) ? "useless" : undefined;
  }
  // An error of the file system by itself.
  if (!("syscall" in error)) return undefined;
  const code = "code" in error ? String(error.code) : "";
  // Only the journal is read in this way.
  const passes = passingCodes.has(code) || (code === "EIO" && error.syscall === "read");
  return passes ? "busy" : "useless";
}
