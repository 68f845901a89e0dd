// <name>.spill: a whole moment in one file, for a process that has no time for a folder. The bytes:
// "TLSPILL1", a 32-bit little-endian length, so many bytes of JSON, every part, "TLSPILL1".
import { join } from "node:path";
import { crc32 } from "node:zlib";
import type { BlockingDisk, Disk, DiskFile } from "../../core/storage/disk/disk.ts";
import { readExactly } from "../../core/storage/files/batch-reader.ts";
import type { PackageRecord, SealedMoment } from "../package/package-format.ts";
import { isRecord, type MemoryPart, type PackagePart, type PartNote, partsOf } from "./content.ts";
import { isCount } from "./intent.ts";
import { endings } from "./names.ts";
import { readPieces } from "./read-package.ts";
import { openSealedJson, sealJson } from "./sealed-json.ts";

const mark = Buffer.from("TLSPILL1");
const lengthBytes = 4;
const prefixBytes = mark.length + lengthBytes;
/** Larger is no header of ours: the longest words of 50 messages come to a few megabytes. */
const maxHeaderBytes = 64 * 1024 * 1024;
/** Pieces given to one call; kernels take 1,024. */
const piecesAtOnce = 512;

interface SpilledPart extends PartNote {
  readonly crc32: number;
}

/**
 * Writes a moment and syncs it, its name included, before it returns: 65 ms for the largest. A file
 * that could not be finished is removed, or lacks its end and is set aside by the next start.
 *
 * @throws what the disk said; then nothing is kept.
 */
export function spillSync(disk: BlockingDisk, directory: string, moment: SealedMoment): void {
  const path = join(directory, moment.record.name + endings.spill);
  const file = disk.create(path);
  try {
    try {
      writeAllSync(disk, file, spillPieces(moment.record, partsOf(moment)));
      disk.sync(file);
    } finally {
      disk.close(file);
    }
    disk.syncDirectory(directory);
  } catch (error) {
    tryTo(() => disk.unlink(path));
    throw error;
  }
}

/** The file, in pieces: no picture and no sound is copied. */
export function spillPieces(
  record: PackageRecord,
  parts: readonly MemoryPart[],
): readonly Uint8Array[] {
  const notes: SpilledPart[] = parts.map((part) => ({
    ...{ path: part.path, bytes: part.bytes },
    crc32: part.pieces().reduce((crc, piece) => crc32(piece, crc), 0),
  }));
  const header = sealJson({ spill: 1, record, parts: notes });
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32LE(header.length);
  return [mark, length, header, ...parts.flatMap((part) => part.pieces()), mark];
}

export interface Spill {
  readonly record: PackageRecord;
  readonly parts: readonly PackagePart[];
}

/** What a spill holds; `undefined` unless every byte of it is as it was written. */
export async function readSpill(
  disk: Disk,
  path: string,
  name: string,
): Promise<Spill | undefined> {
  const file = await disk.open(path, "read");
  try {
    const header = await readHeader(file, name);
    if (header === undefined) return undefined;
    let at = header.end;
    const parts: PackagePart[] = [];
    for (const { path: part, bytes, crc32: crc } of header.parts) {
      const start = at;
      const end = start + bytes;
      if ((await crcOf(disk, path, start, end)) !== crc) return undefined;
      parts.push({ path: part, bytes, pieces: () => readPieces(disk, path, start, end) });
      at = end;
    }
    const isWhole = (await readExactly(file, at, mark.length + 1)).equals(mark);
    return isWhole ? { record: header.record, parts } : undefined;
  } finally {
    await file.close();
  }
}

/** The header alone, whatever lies behind it. */
export async function readHeader(file: DiskFile, name: string) {
  const prefix = await readExactly(file, 0, prefixBytes);
  if (prefix.length < prefixBytes || !prefix.subarray(0, mark.length).equals(mark))
    return undefined;
  const length = prefix.readUInt32LE(mark.length);
  if (length > maxHeaderBytes || length > (await file.size())) return undefined;
  const value = openSealedJson(await readExactly(file, prefixBytes, length)) as
    | { readonly spill?: unknown; readonly record?: unknown; readonly parts?: unknown }
    | undefined;
  if (value?.spill !== 1 || !areParts(value.parts)) return undefined;
  if (!isRecord(value.record, value.parts, name)) return undefined;
  return { record: value.record, parts: value.parts, end: prefixBytes + length };
}

async function crcOf(disk: Disk, path: string, start: number, end: number): Promise<number> {
  let crc = 0;
  for await (const piece of readPieces(disk, path, start, end)) crc = crc32(piece, crc);
  return crc;
}

function areParts(parts: unknown): parts is readonly SpilledPart[] {
  return (
    Array.isArray(parts) &&
    parts.every(
      (part: Partial<SpilledPart> | null) =>
        typeof part?.path === "string" && isCount(part.bytes) && isCount(part.crc32),
    )
  );
}

/** The kernel may take less than it was given, without an error; and nothing, for ever. */
function writeAllSync(disk: BlockingDisk, file: number, pieces: readonly Uint8Array[]): void {
  let position = 0;
  let left = pieces.filter((piece) => piece.length > 0);
  while (left.length > 0) {
    const count = disk.write(file, left.slice(0, piecesAtOnce), position);
    if (count === 0) throw new Error("the disk took no byte");
    position += count;
    left = without(left, count);
  }
}

/** The pieces without their first `count` bytes. */
function without(pieces: readonly Uint8Array[], count: number): Uint8Array[] {
  let skip = count;
  let index = 0;
  for (; index < pieces.length; index++) {
    const { length } = pieces[index] as Uint8Array;
    if (skip < length) break;
    skip -= length;
  }
  const [first, ...rest] = pieces.slice(index);
  return first === undefined ? [] : [first.subarray(skip), ...rest];
}

function tryTo(call: () => void): void {
  try {
    call();
  } catch {
    // The failure that led here is what the caller gets; the next start sets the rest aside.
  }
}
