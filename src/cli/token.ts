import { randomBytes } from "node:crypto";
import fs from "node:fs";
import { isThroughlineError, type ThroughlineError } from "../core/errors.ts";
import { misconfigured } from "../core/options.ts";
import { checkToken } from "../core/token.ts";

/**
 * The token that a file holds. A file that is not there is made, with a new token and mode 0600.
 *
 * @returns `isNew`: it was made now.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: others can use it, it is no plain file, or
 * what it holds is no token. The message never holds the token.
 */
export function readTokenFile(path: string): { readonly token: string; readonly isNew: boolean } {
  const made = makeTokenFile(path);
  if (made !== undefined) return { token: made, isNew: true };
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  try {
    // Nothing is followed, and nothing is waited for: a pipe would hold us up.
    const descriptor = fs.openSync(path, O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0));
    try {
      checkTokenFile(path, fs.fstatSync(descriptor));
      const token = fs.readFileSync(descriptor, "utf8").trim();
      return { token: checkedToken(token, path), isNew: false };
    } finally {
      fs.closeSync(descriptor);
    }
  } catch (cause) {
    throw isThroughlineError(cause) ? cause : unusable(path, cause);
  }
}

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: it is too weak. The message names the place. */
export function checkedToken(token: string, place: string): string {
  try {
    checkToken(token);
    return token;
  } catch (cause) {
    if (!isThroughlineError(cause)) throw cause;
    throw misconfigured(
      `${place}: ${cause.message}. To create a token, pass --token-file with a file that does not exist`,
      cause,
    );
  }
}

function makeTokenFile(path: string): string | undefined {
  const token = randomBytes(32).toString("base64url");
  try {
    fs.writeFileSync(path, `${token}\n`, { flag: "wx", mode: 0o600 });
    return token;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return undefined;
    throw unusable(path, cause);
  }
}

function checkTokenFile(path: string, stats: fs.Stats): void {
  if (!stats.isFile()) throw misconfigured(`${path} is not a regular file`);
  if (stats.size > 4096) throw misconfigured(`${path} contains more than a token`);
  if (process.getuid !== undefined && (stats.mode & 0o077) !== 0) {
    throw misconfigured(
      `other users can read ${path}. Run chmod 600 ${path}, and use a new token if they have read it`,
    );
  }
}

function unusable(path: string, cause: unknown): ThroughlineError {
  const { code } = cause as NodeJS.ErrnoException;
  return misconfigured(`the token file ${path} cannot be used (${code})`, cause);
}
