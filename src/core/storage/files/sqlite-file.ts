// The files of `index.db`: made, opened, removed. With node:sqlite and node:fs on the real files and
// not the Disk port, because SQLite does so too: tests without a real disk take the index in memory.
import fs from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  createSchema,
  IndexDamage,
  prepareStatements,
  type Statements,
  schemaVersion,
} from "./sqlite-schema.ts";

export interface OpenDatabase {
  readonly database: DatabaseSync;
  readonly sql: Statements;
}

/**
 * Opens an index of this version in a file that is ours alone.
 *
 * @returns `undefined` when there is none; what is there instead is of no use.
 */
export function openIndexFile(path: string): OpenDatabase | undefined {
  let database: DatabaseSync | undefined;
  try {
    if (!isOwnFile(path) || !sideFiles(path).every(isFileOrNothing)) return undefined;
    database = new DatabaseSync(path);
    configure(database);
    const version = database.prepare("pragma user_version").get()?.["user_version"];
    if (version === schemaVersion) return { database, sql: prepareStatements(database) };
  } catch {
    // Damaged, locked, unreadable: whatever it is, the logs have everything that was in it.
  }
  database?.close();
  return undefined;
}

// One thread reads while another writes: each waits for the other's short locks. Normal: the file is synced
// before pages are moved into it and after, so that a power cut leaves an older state of the whole, and
// forgotten bytes do not come back. It costs two syncs for every 4 MB that the index grows.
function configure(database: DatabaseSync): void {
  database.exec("pragma busy_timeout = 10000; pragma journal_mode = wal");
  database.exec("pragma synchronous = normal");
}

/**
 * Removes what is there and creates an empty index, mode 0600. Nothing waits for it to be durable:
 * what a power cut leaves of it has no version and is recreated.
 *
 * @returns `undefined` when the disk does not take it.
 */
export function replaceIndexFile(path: string): OpenDatabase | undefined {
  let database: DatabaseSync | undefined;
  try {
    removeIndexFile(path);
    createFile(path);
    database = new DatabaseSync(path);
    configure(database);
    createSchema(database);
    return { database, sql: prepareStatements(database) };
  } catch {
    database?.close();
    return undefined; // full, read-only, a directory of that name: the caller does without a file
  }
}

export function openInMemory(): OpenDatabase {
  const database = new DatabaseSync(":memory:");
  createSchema(database);
  return { database, sql: prepareStatements(database) };
}

/** Removes the index and everything beside it that belongs to it, durably. */
export function removeIndexFile(path: string): void {
  removeSideFiles(path);
  fs.rmSync(path, { force: true });
  syncDirectory(path);
}

/** Whether there is a file of this name, which may hold bytes of ours. */
export function isFileThere(path: string): boolean {
  return fs.lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
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

function removeSideFiles(path: string): void {
  for (const each of sideFiles(path)) fs.rmSync(each, { force: true });
}

function sideFiles(path: string): readonly string[] {
  return ["-wal", "-shm", "-journal"].map((suffix) => path + suffix);
}

function syncDirectory(path: string): void {
  if (process.platform === "win32") return; // a directory cannot be opened there
  const descriptor = fs.openSync(dirname(path), "r");
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
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

/** Parses JSON that was written to the index. What is no JSON now is damage. */
export function parseStored<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw notJson(error);
  }
}

/** Without the error as its cause: the message of that quotes the text. */
function notJson(error: unknown): IndexDamage {
  const name = error instanceof Error ? error.name : "no error";
  return new IndexDamage(`a row of the index is not JSON (${name})`);
}

/** SQLite's codes for what may pass: nothing is thrown away for it. */
const passing: ReadonlySet<number> = new Set([
  5, // SQLITE_BUSY: another program reads the file
  6, // SQLITE_LOCKED
  13, // SQLITE_FULL
]);
/** SQLite's codes for a file that is of no use any more, whatever is asked of it. */
const useless: ReadonlySet<number> = new Set([
  8, // SQLITE_READONLY, also when the file was removed
  10, // SQLITE_IOERR
  11, // SQLITE_CORRUPT
  14, // SQLITE_CANTOPEN
  26, // SQLITE_NOTADB
]);

/** What an error says of the index: it takes nothing for now, or is of no use. `undefined`: it is no fault of the file. */
export function faultOf(error: unknown): "full" | "useless" | undefined {
  if (error instanceof IndexDamage) return "useless";
  const code = sqliteCode(error);
  if (code !== undefined && passing.has(code)) return "full";
  if (code !== undefined) return useless.has(code) ? "useless" : undefined;
  // An error of the file system by itself.
  return error instanceof Error && "syscall" in error ? "useless" : undefined;
}

/** The primary code of an error of SQLite. */
function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}
