import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { unlink } from "node:fs/promises";
import { resolve, sep } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Failed, isErrno } from "./failure.ts";

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "its folder is not there",
  ENOTDIR: "a part of the path is a file",
  EEXIST: "a file stands there",
  EROFS: "what is there can only be read",
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  ELOOP: "its links lead nowhere",
  ENAMETOOLONG: "the name is too long",
};

/** A path after `--out` that nothing can be written to, told as such. Any other error as it is. */
export function wrongOut(out: string, cause: unknown): unknown {
  if (!isErrno(cause, ...Object.keys(reasons)) || !isAbout(out, cause)) return cause;
  const { code = "" } = cause as NodeJS.ErrnoException;
  return new Failed(`${out} cannot be written: ${reasons[code]} (${code})`, {
    code: "THROUGHLINE_CONFIGURATION",
    wayOut:
      "Name another place with --out, in a folder that is there and that this user can write.",
    cause,
  });
}

/** What is written may be read from elsewhere: what goes wrong there is no fault of `--out`. */
function isAbout(out: string, error: unknown): boolean {
  const { path } = error as NodeJS.ErrnoException;
  if (path === undefined) return false;
  const [wanted, failed] = [resolve(out), resolve(path)];
  return failed.startsWith(wanted) || wanted.startsWith(failed + sep);
}

/**
 * Writes a new file, in bounded memory: all of it or none, readable by this user alone, and synced.
 *
 * Rejects with the reason of `signal` after an abort.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something is there already; it stays as it is.
 *   `THROUGHLINE_CONFIGURATION`: nothing can be written there.
 */
export async function writeNewFile(
  path: string,
  pieces: AsyncIterable<string>,
  signal?: AbortSignal,
): Promise<void> {
  let isOurs = false;
  const file = createWriteStream(resolve(path), { flags: "wx", mode: 0o600, flush: true });
  file.once("open", () => {
    isOurs = true;
  });
  try {
    await pipeline(Readable.from(pieces), file, { signal });
  } catch (cause) {
    if (!file.closed) await once(file, "close"); // it may be made only now
    if (isOurs) await unlink(file.path).catch(() => undefined); // the error that stopped it is the news
    signal?.throwIfAborted();
    if (!isErrno(cause, "EEXIST")) throw wrongOut(path, cause);
    throw new Failed(`${path} is there already`, {
      code: "THROUGHLINE_CONFLICT",
      wayOut: "Name a new file with --out; nothing is overwritten.",
      cause,
    });
  }
}
