import { constants } from "node:fs";
import { lstat, open, opendir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { isErrno, wrongUsage } from "../../cli/failure.ts";
import { invalid } from "../../core/errors.ts";
import { tooLarge } from "../../core/json.ts";
import type { Source } from "../import.ts";

/** Files that one import takes. */
const maxFiles = 100_000;

export interface FoundSources {
  readonly sources: readonly Source[];
  /** What was skipped, and why: sentences for the person. */
  readonly passedOver: readonly string[];
}

/**
 * The files that a path stands for: itself, or what lies in the folder and ends right; in nanobot's
 * own folder both places where it keeps sessions. Links inside of folders are not followed, and
 * nothing but plain files is opened.
 *
 * @param ending of a file's name, such as `.jsonl`; or the whole name.
 * @throws CommanderError wrong usage: nothing is there. ThroughlineError `THROUGHLINE_TOO_LARGE`.
 */
export async function findSources(path: string, ending: string): Promise<FoundSources> {
  const about = await stat(path).catch((error: unknown) => {
    if (!isErrno(error, "ENOENT", "ENOTDIR")) throw error;
    throw wrongUsage(`there is no file or folder at ${path}`);
  });
  if (!about.isDirectory())
    return { sources: [fileSource(path, about.mtimeMs, true)], passedOver: [] };
  const sources: Source[] = [];
  const passedOver: string[] = [];
  for (const folder of await foldersIn(path, ending)) {
    for await (const { name } of await opendir(folder)) {
      if (!name.toLowerCase().endsWith(ending)) continue;
      const file = join(folder, name);
      const entry = await lstat(file);
      if (!entry.isFile()) passedOver.push(`${file} is not a regular file: skipped`);
      else sources.push(fileSource(file, entry.mtimeMs, false));
      if (sources.length > maxFiles) {
        throw tooLarge(`${path} contains more than ${maxFiles} files`);
      }
    }
  }
  return { sources, passedOver };
}

async function foldersIn(path: string, ending: string): Promise<readonly string[]> {
  if (ending !== ".jsonl") return [path];
  const own = [join(path, "workspace", "sessions"), join(path, "sessions")];
  const isFolder = async (folder: string) => {
    try {
      return (await lstat(folder)).isDirectory();
    } catch (error) {
      if (isErrno(error, "ENOENT", "ENOTDIR")) return false;
      throw error;
    }
  };
  const there = await Promise.all(own.map(isFolder));
  return [path, ...own.filter((_, index) => there[index])];
}

function fileSource(path: string, modifiedAt: number, followsLink: boolean): Source {
  // A pipe in its place would never end; a link put there would lead elsewhere.
  const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants;
  const flags = O_RDONLY | O_NONBLOCK | (followsLink ? 0 : O_NOFOLLOW);
  return {
    name: basename(path),
    modifiedAt,
    bytes: {
      async *[Symbol.asyncIterator]() {
        const file = await open(path, flags);
        try {
          if (!(await file.stat()).isFile()) {
            throw invalid(`${path} is not a regular file`);
          }
          const buffer = Buffer.alloc(256 * 1024);
          for (;;) {
            const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
            if (bytesRead === 0) return;
            // A copy: readers keep pieces of it, and the buffer is used again.
            yield Buffer.from(buffer.subarray(0, bytesRead));
          }
        } finally {
          await file.close();
        }
      },
    },
  };
}
