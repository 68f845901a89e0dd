import { createHash } from "node:crypto";
import { link, open, readdir, realpath, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Failed, isErrno } from "../../cli/failure.ts";
import { randomId } from "../../core/ids.ts";

/** How a file is named until it is whole. */
interface TemporaryNames {
  /** Begins the name. */
  readonly prefix: string;
  /** No living process but this one names its own so. */
  readonly areOurs: boolean;
}

/**
 * Names that tell which home an export is of. The writer of a home is one process, so that any other
 * file of such a name is of one that died. Beside a server, or a database, that is not known.
 *
 * @param given the home; `undefined`: a database has the chats.
 */
export async function temporaryNames(
  given: string | undefined,
  isServed: boolean,
): Promise<TemporaryNames> {
  const prefix = ".throughline-export-";
  if (given === undefined) return { prefix, areOurs: false };
  const home = await realpath(given);
  const { ino, birthtimeNs } = await stat(home, { bigint: true });
  const digest = createHash("sha256").update(`${ino} ${birthtimeNs} ${home}`).digest("hex");
  return { prefix: `${prefix}${digest.slice(0, 12)}-`, areOurs: !isServed };
}

const afterPrefix = /^[0-9a-z]{18}\.tmp$/;

/** Removes what exports of this home left in a folder that were killed. */
export async function removeLeftovers(
  folder: string,
  { prefix, areOurs }: TemporaryNames,
): Promise<void> {
  if (!areOurs) return;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const { name } = entry;
    const isLeft = name.startsWith(prefix) && afterPrefix.test(name.slice(prefix.length));
    if (isLeft && entry.isFile()) await rm(join(folder, name), { force: true });
  }
}

interface WholeFileOptions {
  readonly names: TemporaryNames;
  /** Overwrite an existing file. */
  readonly force: boolean;
  readonly signal: AbortSignal;
}

interface NewFile {
  readonly name: string;
  /** Read once. What they return says whether they are all of the file. */
  readonly pieces: AsyncGenerator<string, boolean>;
}

/**
 * Writes a file whole or not at all, synced and readable by this user alone. After an abort it rejects
 * with the reason of `signal`, and nothing of the file is left.
 *
 * @returns false: the pieces were not all of it, and nothing of it is left.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: a file is there already.
 */
export async function writeWhole(
  folder: string,
  { name, pieces }: NewFile,
  { names, force, signal }: WholeFileOptions,
): Promise<boolean> {
  const path = join(folder, name);
  const temporary = join(folder, `${names.prefix}${randomId()}.tmp`);
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      let piece = await pieces.next();
      for (; piece.done !== true; piece = await pieces.next()) {
        signal.throwIfAborted();
        await file.writeFile(piece.value);
      }
      if (!piece.value) return false;
      await file.sync();
    } finally {
      await file.close();
    }
    signal.throwIfAborted();
    // A link takes no name that is taken; a rename would.
    await (force ? rename(temporary, path) : link(temporary, path));
    return true;
  } catch (cause) {
    if (!isErrno(cause, "EEXIST")) throw cause;
    throw new Failed(`${path} already exists`, {
      code: "THROUGHLINE_CONFLICT",
      wayOut: "Pass another folder with --out, or --force to overwrite.",
      cause,
    });
  } finally {
    await rm(temporary, { force: true });
  }
}
