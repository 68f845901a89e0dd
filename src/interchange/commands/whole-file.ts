import { link, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Failed, isErrno } from "../../cli/failure.ts";
import { randomId } from "../../core/ids.ts";
import { isRunning } from "../../core/storage/files/file-ports.ts";

/** How a file is named until it is whole: by the process that writes it. */
const temporaryName = /^\.throughline-export-(\d+)-[0-9a-z]{18}\.tmp$/;

/** Removes what exports that were killed left in a folder: before the first file of this process. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const [, pid] = temporaryName.exec(entry.name) ?? [];
    const isLeft = pid !== undefined && entry.isFile() && !isRunning(Number(pid));
    if (isLeft) await rm(join(folder, entry.name), { force: true });
  }
}

interface WholeFileOptions {
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
  { force, signal }: WholeFileOptions,
): Promise<boolean> {
  const path = join(folder, name);
  const temporary = join(folder, `.throughline-export-${process.pid}-${randomId()}.tmp`);
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
