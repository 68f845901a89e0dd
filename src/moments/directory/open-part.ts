import { join } from "node:path";
import { invalid, ThroughlineError } from "../../core/errors.ts";
import type { Manifest } from "../package/record.ts";
import { manifestFile, mediaTypeOf } from "./content.ts";
import { codeOf } from "./disk-errors.ts";
import type { PackagePorts } from "./ports.ts";
import { readPieces } from "./read-package.ts";
import { sizeIfThere } from "./remove-tree.ts";

/** Bytes of a file from 0: `start`, up to and without `end`. Default: all of them. */
export interface ByteRange {
  readonly start?: number;
  readonly end?: number | undefined;
}

export interface OpenedPart {
  readonly path: string;
  readonly mediaType: string;
  /** Of the whole file. */
  readonly bytes: number;
  /** What is given: `end` is held to the size. */
  readonly start: number;
  readonly end: number;
  /** SHA-256 of the whole file; `null` for the manifest itself. */
  readonly sha256: string | null;
  /**
   * The bytes of the range. The file is open from the first to the last, or until it is left. Throws
   * `THROUGHLINE_CORRUPT` when the file ends too early, `THROUGHLINE_UNAVAILABLE` when the disk fails.
   */
  readonly pieces: AsyncIterable<Uint8Array>;
}

/**
 * Opens one file of a package: the manifest, or one that it lists. No other path is ever opened.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: not of this package; `THROUGHLINE_CORRUPT`: of
 * another size than listed; `THROUGHLINE_INVALID`: no such range.
 */
export async function openPart(
  { disk, path: directory }: PackagePorts,
  { name, files }: Manifest,
  path: string,
  range: ByteRange,
): Promise<OpenedPart> {
  const listed = files.find((file) => file.path === path);
  if (listed === undefined && path !== manifestFile) {
    throw new ThroughlineError(`${name} has no such file`, { code: "THROUGHLINE_NOT_FOUND" });
  }
  const place = join(directory, name, path);
  const bytes = await sizeIfThere(disk, place);
  if (bytes === undefined || (listed !== undefined && listed.bytes !== bytes)) {
    throw damaged(name, path);
  }
  const start = range.start ?? 0;
  const end = Math.min(range.end ?? bytes, bytes);
  if (
    !isOffset(start) ||
    !isOffset(range.end ?? 0) ||
    start > end ||
    (start === bytes && start > 0)
  ) {
    throw invalid(`${name}/${path} has ${bytes} bytes, and no such range`);
  }
  // By its name: what another machine wrote into a manifest is not what a browser may be told.
  const mediaType = mediaTypeOf(path);
  const { sha256 = null } = listed ?? {};
  return { path, mediaType, bytes, start, end, sha256, pieces: all() };

  async function* all(): AsyncGenerator<Uint8Array, void> {
    let given = 0;
    try {
      for await (const piece of readPieces(disk, place, start, end)) {
        given += piece.length;
        yield piece;
      }
    } catch (cause) {
      throw new ThroughlineError(`${name}/${path} could not be read (${codeOf(cause)})`, {
        code: "THROUGHLINE_UNAVAILABLE",
        cause,
      });
    }
    if (given < end - start) throw damaged(name, path);
  }
}

function isOffset(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function damaged(name: string, path: string): ThroughlineError {
  return new ThroughlineError(`${name}/${path} is not as it was sealed`, {
    code: "THROUGHLINE_CORRUPT",
  });
}
