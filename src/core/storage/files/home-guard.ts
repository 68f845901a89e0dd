// What a home must be before anything in it is trusted. This is about the kernel's own view of a
// path (kind, owner, mode, inode, kind of file system), so it asks node:fs and not the Disk port: a
// simulated disk has no owner. Guards are depth, not walls: they hold where the parent directory is
// not open to others.

import fs from "node:fs";
import type { Logger } from "../../logger.ts";
import { misconfigured } from "../../options.ts";
import { isNotAllowed } from "./file-ports.ts";

/** Which file or directory a path led to. */
export interface Identity {
  readonly device: bigint;
  readonly inode: bigint;
}

/**
 * File systems by the number that Linux gives them. On the first, a lock may be granted to two
 * machines at once, and what one writes the other may see late. Behind the second may be anything.
 *
 * Source: linux/magic.h and statfs(2).
 */
const network: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x564c, "NCP"],
  [0x5346414f, "AFS"],
  [0x73757245, "Coda"],
  [0x00c36400, "Ceph"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
]);
const userSpace: ReadonlyMap<number, string> = new Map([
  [0x65735546, "FUSE"],
  [0x01021997, "9P"],
]);

/**
 * Checks that a home is a directory, no link, that it belongs to this user, that no other user can
 * write in it and that this user can; on Windows neither the third nor the fourth. If others can
 * read it, that is a warning.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: not so; the message says what to do.
 */
export function checkHome(home: string, logger: Logger): Identity {
  const stats = statOf(home);
  if (stats === undefined) throw misconfigured(`the home ${home} does not exist: create it`);
  if (!stats.isDirectory()) {
    const kind = stats.isSymbolicLink() ? "a link: name the directory itself" : "not a directory";
    throw misconfigured(`the home ${home} is ${kind}`);
  }
  checkOwner(stats, `the home ${home}`, `chmod 700 ${home}`);
  checkAccess(home);
  if (process.getuid !== undefined && (stats.mode & 0o077n) !== 0n) {
    logger.warn({ home }, `others can look into the home: chmod 700 ${home}`);
  }
  return identityOf(stats);
}

/**
 * Refuses a home on a file system whose locks do not hold between machines, unless `force`.
 *
 * @param type what `statfs` says. Only Linux gives numbers that mean something.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`
 */
export function checkFileSystem(home: string, type: number, force: boolean, logger: Logger): void {
  const number = type >>> 0; // a machine with 32 bits gives the high ones as negative
  const unknown = userSpace.get(number);
  if (unknown !== undefined) {
    const fields = { home, file_system: unknown };
    logger.warn(fields, "if this file system is shared between machines, use it from one only");
  }
  const remote = network.get(number);
  if (remote === undefined) return;
  if (!force) {
    throw misconfigured(
      `the home ${home} is on ${remote}, a network file system, where the lock does not keep ` +
        "other machines out: put it on a local disk, or force it and use it from one machine only",
    );
  }
  const says = "a second machine is not kept out, and a power cut may undo what was stored";
  logger.warn({ home, file_system: remote }, says);
}

/**
 * Checks a lock file that is there: a regular file with one name, ours, not writable by others. Its
 * mode becomes 0600. It is never opened here: closing a descriptor of it would free the lock that
 * this process may hold.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`
 */
export function checkLockFile(path: string): Identity {
  const stats = statOf(path);
  if (stats === undefined)
    throw misconfigured(`${path} is gone again: somebody else changes this home`);
  if (!stats.isFile()) {
    throw misconfigured(
      `${path} is not a file but a link, a folder, a pipe or the like: stop every process that uses ` +
        "this home, then move it away",
    );
  }
  if (stats.nlink !== 1n) {
    throw misconfigured(
      `${path} has a second name, as after a copy of the home that was made with links (cp -al). It ` +
        "holds no data: stop every process that uses this home or the copy, then remove it here. " +
        "Copy a home with cp -a instead",
    );
  }
  checkOwner(stats, path, `chmod 600 ${path}`);
  if (process.getuid !== undefined && (stats.mode & 0o077n) !== 0n) fs.chmodSync(path, 0o600);
  return identityOf(stats);
}

/** Whether a path leads to this very file or directory now, links not followed. */
export function isAt(path: string, { device, inode }: Identity): boolean {
  const stats = statOf(path);
  return stats?.dev === device && stats.ino === inode;
}

function checkOwner(stats: fs.BigIntStats, name: string, fix: string): void {
  if (process.getuid === undefined) return; // Windows has neither owner nor mode in this form
  if (stats.uid !== BigInt(process.getuid())) {
    throw misconfigured(`${name} belongs to another user: use a directory that you made yourself`);
  }
  if ((stats.mode & 0o022n) !== 0n) throw misconfigured(`others can write ${name}: ${fix}`);
}

/** Nothing can be repaired or stored in a home that is read-only. */
function checkAccess(home: string): void {
  const { R_OK, W_OK, X_OK } = fs.constants;
  try {
    fs.accessSync(home, R_OK | W_OK | X_OK);
  } catch (cause) {
    if (!isNotAllowed(cause)) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    const remedy =
      code === "EROFS"
        ? "its file system is read-only: mount it for writing, or use another home"
        : `see to its permissions (chmod 700 ${home}), or use another home`;
    throw misconfigured(
      `the home ${home} cannot be written by this user (${code}): ${remedy}`,
      cause,
    );
  }
}

function statOf(path: string): fs.BigIntStats | undefined {
  return fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
}

function identityOf(stats: fs.BigIntStats): Identity {
  return { device: stats.dev, inode: stats.ino };
}
