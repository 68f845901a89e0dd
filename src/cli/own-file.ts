import fs from "node:fs";
import { isThroughlineError } from "../core/errors.ts";
import { misconfigured } from "../core/options.ts";

const mebibyte = 1024 * 1024;

/**
 * The text of a file that a person put into the home; `undefined` where there is none. A link is
 * followed, as people keep such files elsewhere; what is no plain file is refused, and never waited
 * for.
 *
 * @param maxBytes a larger file is refused.
 * @param isSecret so is one that other users can read, and no link is followed. @default false
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: it cannot be read, is too large, or is not
 * UTF-8; the message names it.
 */
export function readOwnFile(
  path: string,
  maxBytes = mebibyte,
  isSecret = false,
): string | undefined {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = fs.constants;
  let descriptor: number | undefined;
  try {
    // Opening a pipe would wait.
    const flags = O_RDONLY | (O_NONBLOCK ?? 0) | (isSecret ? (O_NOFOLLOW ?? 0) : 0);
    descriptor = fs.openSync(path, flags);
    const stats = fs.fstatSync(descriptor);
    if (!stats.isFile()) throw misconfigured(`${path} is not a regular file`);
    if (isSecret) checkMode(path, stats);
    if (stats.size > maxBytes) {
      const limit = maxBytes < mebibyte ? `${maxBytes / 1024} KiB` : `${maxBytes / mebibyte} MiB`;
      throw misconfigured(`${path} is larger than ${limit}`);
    }
    return decode(path, fs.readFileSync(descriptor));
  } catch (cause) {
    if (isThroughlineError(cause)) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined; // a home that is not a directory is reported elsewhere
    throw misconfigured(`${path} cannot be read (${code})`, cause);
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
}

function checkMode(path: string, { mode }: fs.Stats): void {
  if (process.getuid === undefined || (mode & 0o077) === 0) return;
  throw misconfigured(
    `other users can read ${path}. Run chmod 600 ${path}, and use a new token if they have read it`,
  );
}

function decode(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw misconfigured(`${path} is not UTF-8`, cause);
  }
}
