// The files of `index.db`: made, opened, removed. With node:sqlite and node:fs on the real files and
// not the Disk port, because SQLite does so too: tests without a real disk take the index in memory.
import fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { randomId } from "../../ids.ts";
import {
  createSchema,
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

// Exclusive: no `-shm` file, and no other process in between. Normal: the file is synced before
// pages are moved into it and after, so that a power cut leaves an older state of the whole, and
// forgotten bytes do not come back. It costs two syncs for every 4 MB that the index grows.
function configure(database: DatabaseSync): void {
  database.exec("pragma locking_mode = exclusive; pragma journal_mode = wal");
  database.exec("pragma synchronous = normal; pragma temp_store = memory");
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

/**
 * Puts a copy in the place of the index that holds its rows and nothing else that is in the file.
 * The given database is closed; the file must be reopened.
 */
export function replaceByCopy(path: string, database: DatabaseSync): void {
  const copy = `${path}.tmp-${randomId()}`;
  createFile(copy);
  database.exec(`vacuum into '${copy.replaceAll("'", "''")}'`);
  const copied = new DatabaseSync(copy);
  try {
    copied.exec("update state set owed = 0"); // this also syncs the whole of it
  } finally {
    copied.close();
  }
  database.close();
  // A journal of the old file must never be taken for one of the new.
  removeSideFiles(path);
  syncDirectory(path);
  fs.renameSync(copy, path);
  syncDirectory(path);
}

/** Removes copies that a dead process did not finish. */
export function removeCopies(path: string): void {
  const prefix = `${basename(path)}.tmp-`;
  for (const name of fs.readdirSync(dirname(path))) {
    if (name.startsWith(prefix)) fs.rmSync(join(dirname(path), name), { force: true });
  }
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
