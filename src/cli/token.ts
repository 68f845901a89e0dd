import { randomBytes } from "node:crypto";
import fs from "node:fs";
import { isThroughlineError } from "../core/errors.ts";
import { misconfigured } from "../core/options.ts";
import { checkToken } from "../core/token.ts";
import { readOwnFile } from "./own-file.ts";

/** Longest token file that is read, in bytes. */
export const maxTokenBytes = 4096;

/**
 * The token that a file holds. A file that is not there is made, with a new token and mode 0600.
 *
 * @returns `isNew`: it was made now.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: others can use it, it is no plain file, or
 * what it holds is no token. The message never holds the token.
 */
export function readTokenFile(path: string): { readonly token: string; readonly isNew: boolean } {
  const token = randomBytes(32).toString("base64url");
  try {
    fs.writeFileSync(path, `${token}\n`, { flag: "wx", mode: 0o600 });
    return { token, isNew: true };
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== "EEXIST") throw misconfigured(`${path} cannot be written (${code})`, cause);
  }
  const text = readOwnFile(path, maxTokenBytes, true) ?? "";
  return { token: checkedToken(text.trim(), path), isNew: false };
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
