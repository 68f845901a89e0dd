import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { unlink } from "node:fs/promises";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Failed, isErrno } from "./failure.ts";
import { wrongOut } from "./out-path.ts";

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
    await pipeline(Readable.from(pieces), file, signal === undefined ? {} : { signal });
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
