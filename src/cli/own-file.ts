import fs from "node:fs";
import { misconfigured } from "../core/options.ts";

const mebibyte = 1024 * 1024;

/**
 * The text of a file that a person put into the home; `undefined` where there is none. A link is
 * followed, as people keep such files elsewhere; what is no plain file is refused, and never waited
 * for.
 *
 * @param maxBytes a larger file is refused.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: it cannot be read, is too large, or is not
 * UTF-8; the message names it.
 */
export function readOwnFile(path: string, maxBytes = mebibyte): string | undefined {
  const bytes = readStart(path, maxBytes + 1);
  if (bytes === undefined) return undefined;
  if (bytes.length > maxBytes) {
    const limit = maxBytes < mebibyte ? `${maxBytes / 1024} KiB` : `${maxBytes / mebibyte} MiB`;
    throw misconfigured(`${path} is larger than ${limit}`);
  }
  return decode(path, bytes, { isWhole: true });
}

/**
 * The same, of a file of any size: the characters that end within the first `maxBytes`.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: it cannot be read, or these are not UTF-8.
 */
export function readStartOfOwnFile(path: string, maxBytes: number): string | undefined {
  const bytes = readStart(path, maxBytes + 1);
  if (bytes === undefined) return undefined;
  return decode(path, bytes.subarray(0, maxBytes), { isWhole: bytes.length <= maxBytes });
}

function readStart(path: string, length: number): Uint8Array | undefined {
  const { O_RDONLY, O_NONBLOCK } = fs.constants;
  let descriptor: number;
  try {
    descriptor = fs.openSync(path, O_RDONLY | (O_NONBLOCK ?? 0)); // opening a pipe would wait
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined; // a home that is not a directory is reported elsewhere
    throw misconfigured(`${path} cannot be read (${code})`, cause);
  }
  try {
    const stats = fs.fstatSync(descriptor);
    if (stats.isDirectory()) throw misconfigured(`${path} cannot be read (EISDIR)`);
    if (!stats.isFile()) throw misconfigured(`${path} is not a regular file`);
    return fill(path, descriptor, Buffer.alloc(Math.min(length, stats.size + 1)));
  } finally {
    fs.closeSync(descriptor);
  }
}

function fill(path: string, descriptor: number, buffer: Uint8Array): Uint8Array {
  let count = 0;
  try {
    while (count < buffer.length) {
      const read = fs.readSync(descriptor, buffer, count, buffer.length - count, null);
      if (read === 0) break;
      count += read;
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw misconfigured(`${path} cannot be read (${code})`, cause);
  }
  return buffer.subarray(0, count);
}

function decode(path: string, bytes: Uint8Array, { isWhole }: { readonly isWhole: boolean }) {
  try {
    // With `stream`, a character that the bound cuts in two is left out.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: !isWhole });
  } catch (cause) {
    throw misconfigured(`${path} is not UTF-8`, cause);
  }
}
