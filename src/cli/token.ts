import { randomBytes } from "node:crypto";
import fs from "node:fs";
import { ThroughlineError } from "../errors.ts";

/** 256 bits as base64url: whoever holds fewer characters cannot have had so many bits. */
const minLength = 43;
/** Random text of that length, even of digits only, has as many but for 1 case in 10^9. */
const minDistinct = 8;

/**
 * Checks that a token can keep anybody out. It cannot be told whether a text is random, so this
 * refuses what surely is not: empty, short, placeholders, repetitions.
 *
 * @param name where it comes from, for the message, which never holds the token.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`
 */
export function checkToken(token: string, name: string): string {
  const isPlain = /^[\x21-\x7e]+$/.test(token);
  if (!isPlain || token.length < minLength || new Set(token).size < minDistinct) {
    throw wrong(
      `${name} is not a token: it needs at least 256 random bits, as 64 hex digits. ` +
        "Leave it out and name a file with --token-file: one that is not there yet is made",
    );
  }
  return token;
}

/**
 * The token that a file holds. A file that is not there is made, with a new token and mode 0600.
 *
 * @returns `isNew`: it was made now.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: others can read it, it is no plain file, or
 * what it holds is no token.
 */
export function readTokenFile(path: string): { readonly token: string; readonly isNew: boolean } {
  const made = makeTokenFile(path);
  if (made !== undefined) return { token: made, isNew: true };
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  try {
    const descriptor = fs.openSync(path, O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0));
    try {
      checkTokenFile(path, fs.fstatSync(descriptor));
      return { token: checkToken(fs.readFileSync(descriptor, "utf8").trim(), path), isNew: false };
    } finally {
      fs.closeSync(descriptor);
    }
  } catch (cause) {
    throw cause instanceof ThroughlineError ? cause : unusable(path, cause);
  }
}

function makeTokenFile(path: string): string | undefined {
  const token = randomBytes(32).toString("hex");
  try {
    fs.writeFileSync(path, `${token}\n`, { flag: "wx", mode: 0o600 });
    return token;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return undefined;
    throw unusable(path, cause);
  }
}

function checkTokenFile(path: string, stats: fs.Stats): void {
  if (!stats.isFile()) throw wrong(`${path} is not a plain file`);
  if (stats.size > 4096) throw wrong(`${path} holds more than a token`);
  if (process.getuid !== undefined && (stats.mode & 0o077) !== 0) {
    throw wrong(`others can use ${path}: chmod 600 ${path}, and a new token if they did`);
  }
}

function unusable(path: string, cause: unknown): ThroughlineError {
  const { code } = cause as NodeJS.ErrnoException;
  return wrong(`the token file ${path} cannot be used (${code})`, cause);
}

function wrong(message: string, cause?: unknown): ThroughlineError {
  return new ThroughlineError(message, { code: "THROUGHLINE_CONFIGURATION", cause });
}
