import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { ThroughlineError } from "../../core/errors.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import { isCode, unlessAbsent, writeAll } from "../../core/storage/files/file-ports.ts";
import {
  appear,
  create,
  makeBeside,
  nameBeside,
  removeTree,
} from "../../core/storage/files/new-folder.ts";

/** A file that was written. */
export interface WrittenFile {
  /** From the export's folder, with `/`. */
  readonly path: string;
  readonly bytes: number;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
}

/** Written last: a folder that has it is an export, and whole. */
export const reportFile = "export-report.json";

/**
 * Writes a file; folders on its path are made. What yields the pieces may write other files in between. Without
 * a piece there is no file: an empty one fails its readers.
 */
export type WriteFile = (
  path: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
) => Promise<void>;

/**
 * Fills the folder of an export under a name of its own beside its place, and makes it appear by one rename, so that
 * a reader never sees half of it. With `replaces` an earlier export makes room just before, and is removed then. What
 * an export left that died is removed by the next one.
 *
 * @param fill gets the files that were written so far, too.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something is there, and `replaces` is not set or it is no
 *   export; or it is a link.
 */
export async function fillFolder<T>(
  disk: Disk,
  out: string,
  replaces: boolean,
  fill: (write: WriteFile, files: readonly WrittenFile[]) => Promise<T>,
): Promise<T> {
  await hasEarlier(disk, out, replaces);
  const folder = await makeBeside(disk, out, "partial");
  const files: WrittenFile[] = [];
  const write: WriteFile = async (path, pieces) => {
    const hash = createHash("sha256");
    let bytes = 0;
    await create(disk, folder, path, async (file) => {
      for await (const piece of pieces) {
        hash.update(piece);
        await writeAll(file, piece, bytes);
        bytes += piece.length;
      }
      await file.sync();
    });
    if (bytes === 0) await disk.unlink(join(folder, path));
    else files.push({ path, bytes, sha256: hash.digest("hex") });
  };
  try {
    const result = await fill(write, files);
    // Checked again: an export takes long, and something may have been put there since.
    const earlier = (await hasEarlier(disk, out, replaces))
      ? nameBeside(out, "partial")
      : undefined;
    await appear(disk, folder, out, earlier);
    if (earlier !== undefined) await removeTree(disk, earlier);
    return result;
  } catch (error) {
    // What it cannot remove the next export removes; the first error is the news.
    await removeTree(disk, folder).catch(() => undefined);
    throw error;
  }
}

/** Whether an earlier export stands there, to be replaced. @throws as `fillFolder` */
async function hasEarlier(disk: Disk, out: string, replaces: boolean): Promise<boolean> {
  const beside = await disk.list(dirname(out)).catch((error) => {
    throw isCode(error, "ENOTDIR") ? isFile(out, error) : error;
  });
  const kind = beside.find(({ name }) => name === basename(out))?.kind;
  // A rename would move the link, and a look through it finds what another name stands for.
  if (kind === "other") {
    throw refusal(`${out} is a link, or no folder: name the folder that it leads to`);
  }
  if (kind === "file") throw isFile(out);
  if (kind === undefined) return false;
  if (!replaces) throw refusal("the folder of the export is there already");
  // A wrong path must not cost somebody a folder of something else.
  const names = ((await disk.list(out).catch(unlessAbsent)) ?? []).map(({ name }) => name);
  if (names.length > 0 && !names.includes(reportFile)) {
    throw refusal("what is to be replaced is not an export");
  }
  return true;
}

function isFile(out: string, cause?: unknown): ThroughlineError {
  return refusal(`a file stands where the folder ${out}, or one above it, goes`, cause);
}

function refusal(message: string, cause?: unknown): ThroughlineError {
  return new ThroughlineError(message, { code: "THROUGHLINE_CONFLICT", cause });
}
