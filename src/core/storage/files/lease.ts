// The single-writer lease of a home. It is the kernel's lock on a file, so it uses node:sqlite and
// node:fs on the real files and not the Disk port: a lock that a test could fake would prove nothing.
import fs from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Clock, isoTime, systemClock } from "../../clock.ts";
import { type ErrorCode, ThroughlineError } from "../../errors.ts";
import { fillWithRandom } from "../../ids.ts";
import { type Logger, silentLogger } from "../../logger.ts";
import { misconfigured } from "../../options.ts";
import { isNotAllowed } from "./file-ports.ts";
import { checkFileSystem, checkHome, checkLockFile, type Identity, isAt } from "./home-guard.ts";
import { holderOf, removeHolder, writeHolder } from "./lease-holder.ts";

/** The right to write a home, until it is released or the process ends in whatever way. */
export interface Lease {
  /**
   * Throws when this process may no longer be the only writer, because the lock file or the home was
   * removed, replaced or renamed. Then it throws for good. Costs two calls of `lstat`: call it before
   * every commit.
   *
   * @throws ThroughlineError `THROUGHLINE_LOCKED`: another process can have taken the home.
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the home is not where it was.
   * @throws ThroughlineError `THROUGHLINE_CLOSED`: after `release`.
   */
  check(): void;
  /** Lets the next process in. Releasing twice is releasing once. */
  release(): void;
}

export interface LeaseOptions {
  /**
   * Take a home on a network file system, although no other machine is kept out there.
   * @default false
   */
  readonly force?: boolean;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/**
 * Every lease of this process. A database that nothing refers to is collected and thereby closed,
 * and its lock would be gone without a word: as long as it stands here, it is not.
 */
const held = new Set<DatabaseSync>();

/** SQLite's code for a lock that somebody else has. */
const sqliteBusy = 5;
/** SQLite's codes for a file that is none of its own, or is damaged. */
const sqliteUnreadable = [11, 26];
/** With the pauses between them, a tenth of a second. */
const mostTries = 8;
const longestPauseMs = 25;
const random = new Uint8Array(1);

/**
 * Makes this process the writer of a home, which must exist. At once or not at all: it does not
 * wait for a holder, and a holder that is slow, stopped or swapped out keeps the home. One that
 * dies frees it in the same moment, whatever it left behind, because the lock is the kernel's and
 * not a file's existence or age.
 *
 * Nothing else in this process may open `<home>/lock.db`: POSIX frees a process's locks on a file
 * when any descriptor of it is closed.
 *
 * @throws ThroughlineError `THROUGHLINE_LOCKED`: there is a writer, also if it is this very process;
 * the message names its pid and host. Within 1 s.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: the home or `lock.db` is a link or no plain
 * directory or file, belongs to another user, can be written by others or not by this user, or is on
 * a network file system; the message says what to do.
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the file system gave no lock.
 */
export function takeLease(home: string, options: LeaseOptions = {}): Lease {
  const { force = false, clock = systemClock, logger = silentLogger } = options;
  const path = resolve(home);
  checkPermissionModel();
  const homeIdentity = checkHome(path, logger);
  if (process.platform === "linux") {
    checkFileSystem(path, fs.statfsSync(path).type, force, logger);
  }
  const lockPath = join(path, "lock.db");
  makeLockFile(lockPath);
  const lockIdentity = checkLockFile(lockPath);
  const database = lock(path, lockPath);
  held.add(database);
  let isReleased = false;
  let lost: ThroughlineError | undefined;
  const look = () => {
    // Coming back does not help: somebody may have written in between.
    lost ??= lossOf(path, { home: homeIdentity, lock: lockIdentity });
    return lost;
  };
  const lease: Lease = {
    check() {
      if (isReleased) throw failure("THROUGHLINE_CLOSED", `the home ${path} was released`);
      const loss = look();
      if (loss !== undefined) throw loss;
    },
    release() {
      if (isReleased) return;
      // In a home that is no longer ours the note is somebody else's.
      if (look() === undefined) removeHolder(path);
      isReleased = true;
      database.close();
      held.delete(database);
    },
  };
  try {
    lease.check(); // what was checked is what was opened
  } catch (error) {
    lease.release();
    throw error;
  }
  noteHolder(path, isoTime(clock.now()), logger);
  return lease;
}

function lossOf(
  home: string,
  taken: { readonly home: Identity; readonly lock: Identity },
): ThroughlineError | undefined {
  try {
    // Before every write: where our lock file is, there is our home.
    if (isAt(`${home}/lock.db`, taken.lock)) return undefined;
    if (!isAt(home, taken.home)) {
      return failure("THROUGHLINE_UNAVAILABLE", `the home ${home} was moved away or replaced`);
    }
    const message = `${home}/lock.db was removed or replaced: this process stops writing`;
    return failure("THROUGHLINE_LOCKED", message);
  } catch (cause) {
    return failure("THROUGHLINE_UNAVAILABLE", `the home ${home} cannot be looked at`, cause);
  }
}

/** Node's permission model forbids every call on a descriptor that changes a file or makes it durable. */
export function checkPermissionModel(): void {
  if ((process.permission as unknown) === undefined) return;
  const message = "a home cannot be used under node --permission: Node refuses fdatasync there";
  throw failure("THROUGHLINE_CONFIGURATION", message);
}

/** Creates the lock file if it is not there, and opens one that is there in no case. */
function makeLockFile(path: string): void {
  const { O_RDWR, O_CREAT, O_EXCL } = fs.constants;
  try {
    const descriptor = fs.openSync(path, O_RDWR | O_CREAT | O_EXCL, 0o600);
    fs.fchmodSync(descriptor, 0o600); // whatever the umask
    fs.closeSync(descriptor);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return;
    const code = isNotAllowed(cause) ? "THROUGHLINE_CONFIGURATION" : "THROUGHLINE_UNAVAILABLE";
    throw failure(code, `${path} cannot be created`, cause);
  }
}

/**
 * Two that start in the same moment can each hold a part of the lock, and refuse each other. Each waits a
 * time of its own then, so that one of them has it.
 */
function lock(home: string, path: string): DatabaseSync {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let tries = 1; ; tries++) {
    try {
      return lockOnce(path);
    } catch (cause) {
      const code = Number((cause as { readonly errcode?: unknown }).errcode);
      if (sqliteUnreadable.includes(code)) {
        const wayOut = "stop every process that uses this home, then move it out of the home";
        throw misconfigured(`${path} is not a lock file: ${wayOut}. It holds no data`, cause);
      }
      if (code !== sqliteBusy) {
        const message = `${path} cannot be locked: ${String(cause)}`;
        throw failure("THROUGHLINE_UNAVAILABLE", message, cause);
      }
      if (tries === mostTries) throw failure("THROUGHLINE_LOCKED", refusal(home), cause);
    }
    fillWithRandom(random);
    Atomics.wait(pause, 0, 0, 1 + ((random[0] ?? 0) % longestPauseMs));
  }
}

function lockOnce(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  try {
    // Nothing is ever written into this database. "off" is refused to a defensive connection, which
    // Node's is by default, and would leave a journal beside it.
    database.exec("pragma journal_mode=memory");
    // Keeps the lock even if SQLite should end the transaction by itself.
    database.exec("pragma locking_mode=exclusive");
    database.exec("begin exclusive");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** A disk too full for the note still has a reader, and somebody who wants to make room. */
function noteHolder(home: string, since: string, logger: Logger): void {
  try {
    writeHolder(home, { pid: process.pid, host: hostname(), since });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    removeHolder(home); // what a dead holder left would name a server that is gone
    logger.warn({ home, code }, "lock.json was not written: others are refused without our name");
  }
}

function refusal(home: string): string {
  const holder = holderOf(home);
  if (holder === undefined) return `another process is the writer of ${home}`;
  const { pid, host, since, url } = holder;
  const self = pid === process.pid && host === hostname() ? " (this process)" : "";
  const served = url === undefined ? "" : `, and serves it at ${url}`;
  return (
    `process ${pid}${self} on ${host} is the writer of ${home} since ${since}${served}: ` +
    "stop it, or use another home"
  );
}

function failure(code: ErrorCode, message: string, cause?: unknown): ThroughlineError {
  return new ThroughlineError(message, { code, cause });
}

/** A pass of the event loop that takes longer looks at the lease again. */
const longestPassMs = 10;

/**
 * A check that holds for everything that is written in the same pass of the event loop: with 200 chats at
 * once, looking before each write was a tenth of what a turn cost. Between a look and the end of a write
 * there is always more time than a pass takes.
 *
 * @param check throws when nothing may be written; what it threw does not hold.
 */
export function oncePerPass(check: () => void, now = () => performance.now()): () => void {
  let seenAt = Number.NEGATIVE_INFINITY;
  const forget = () => {
    seenAt = Number.NEGATIVE_INFINITY;
  };
  return () => {
    const time = now();
    if (time - seenAt < longestPassMs) return;
    check();
    if (seenAt === Number.NEGATIVE_INFINITY) setImmediate(forget);
    seenAt = time;
  };
}
