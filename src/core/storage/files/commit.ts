// The bytes of a log: what stands between one commit line and the next. docs/formats/log.md is the
// description for people; this file is the only code that knows it.
import { crc32 } from "node:zlib";
import { corrupt, ThroughlineError } from "../../errors.ts";
import { isJsonObject, type JsonObject } from "../../json.ts";

/** Version of the log format, in every commit line. A greater one is refused, never touched. */
const formatVersion = 1;

/** The last line of every batch: it makes the batch count. */
export interface Commit {
  /** Version of the format. The seal is the same in every version, so that it can be believed. */
  readonly format: number;
  /** Number of the last record. */
  readonly seq: number;
  /** Records in this batch. */
  readonly count: number;
  /** Bytes from the start of the batch to the start of the commit line. */
  readonly bytes: number;
  /** CRC of the commit before, which chains the batches; empty in the first. */
  readonly prev: string;
  /** CRC-32 of the batch and of this line up to here, as 8 hex digits. */
  readonly crc: string;
}

/** What a commit line says of the whole log. */
interface CommitHead {
  readonly key: string;
  /** JSON of an object. */
  readonly headJson: string;
  /** Records before this batch were lost to damage; set when a damaged log is rewritten. */
  readonly damaged: boolean;
}

/** Where a log ends, and what its last commit says of the whole. */
export interface LogEnd {
  /** Number of the last record, 0 in a file without any. */
  readonly seq: number;
  /** End of the last valid batch: everything before it is stored. */
  readonly end: number;
  /** CRC of the last batch: tells an older copy of the file from the file. */
  readonly crc: string;
  readonly headJson: string;
}

export const noEnd: LogEnd = { seq: 0, end: 0, crc: "", headJson: "{}" };

export interface NewBatch {
  readonly key: string;
  /** The record lines: one JSON text each, beginning with its `id` and `seq`, and a line break. */
  readonly lines: string;
  /** The ids of its records. */
  readonly ids: readonly string[];
  /** Number of the last record. */
  readonly seq: number;
  readonly headJson: string;
  readonly prev: string;
  readonly damaged: boolean;
  /** The batch opens the file: the seed's metadata line comes first. */
  readonly opens: boolean;
}

const commitStart = `{"_type":"metadata","kind":"commit","format":`;
const crcStart = `,"crc":"`;
// `,"crc":"` + 8 digits + `"}` + line break
const sealBytes = crcStart.length + 8 + 3;
export const lineBreak = 0x0a;

/** The most bytes that a batch takes. */
export function roomFor({ key, lines, headJson }: NewBatch): number {
  // A UTF-16 unit is at most three bytes, and in the JSON of a key six: long texts are counted instead.
  const text = lines.length < 16_384 ? 3 * lines.length : Buffer.byteLength(lines);
  return text + 6 * headJson.length + 12 * key.length + 400;
}

/** Writes a batch into a buffer that has room for it: records, commit line, seal. */
export function putBatch(
  into: Buffer,
  at: number,
  batch: NewBatch,
): { readonly end: number; readonly crc: string } {
  const key = JSON.stringify(batch.key);
  const head = batch.headJson === "{}" ? "" : `,${batch.headJson.slice(1, -1)}`;
  let end = at;
  if (batch.opens) {
    const header = `{"_type":"metadata","kind":"log","format":${formatVersion},"key":${key}${head}}\n`;
    end += into.write(header, end);
  }
  end += into.write(batch.lines, end);
  const commit =
    `${commitStart}${formatVersion},"seq":${batch.seq},"count":${batch.ids.length}` +
    `,"bytes":${end - at},"key":${key}${head}` +
    `${batch.damaged ? `,"damaged":true` : ""},"prev":"${batch.prev}"`;
  end += into.write(commit, end);
  const crc = hexCrc(into.subarray(at, end));
  end += into.write(`${crcStart}${crc}"}\n`, end);
  return { end, crc };
}

/**
 * Reads what a commit line says of its batch. Its seal says whether this is true.
 *
 * @param line without its line break.
 * @returns `undefined`: it is no commit line, or it is damaged.
 */
export function decodeCommit(line: Buffer): Commit | undefined {
  if (!line.subarray(0, commitStart.length).equals(commitStartBytes)) return undefined;
  const counts = countsPattern.exec(line.toString("latin1", commitStart.length, countsEnd));
  const chain = chainPattern.exec(line.toString("latin1", Math.max(0, line.length - chainBytes)));
  if (counts === null || chain === null) return decodeOther(line);
  const [format = 0, seq = 0, count = 0, bytes = 0] = counts.slice(1).map(Number);
  const [, prev = "", crc = ""] = chain;
  return { format, seq, count, bytes, prev, crc };
}
const commitStartBytes = Buffer.from(commitStart);
const countsPattern = /^(\d{1,15}),"seq":(\d{1,15}),"count":(\d{1,15}),"bytes":(\d{1,15}),"key":/;
const countsEnd = commitStart.length + 4 * 15 + `,"seq":,"count":,"bytes":,"key":`.length;
const chainPattern = /,"prev":"([0-9a-f]{8}|)","crc":"([0-9a-f]{8})"\}$/;
const chainBytes = `,"prev":"01234567"`.length + sealBytes - 1;

/** A line that we did not write: a later version may have other fields among these. */
function decodeOther(line: Buffer): Commit | undefined {
  const fields = parseLine(line);
  if (fields === undefined) return undefined;
  const { format, seq, count, bytes, prev, crc } = fields;
  if (!isCount(format) || !isCount(seq) || !isCount(count) || !isCount(bytes)) return undefined;
  if (typeof prev !== "string" || typeof crc !== "string") return undefined;
  return { format, seq, count, bytes, prev, crc };
}

function parseLine(line: Buffer): JsonObject | undefined {
  try {
    const fields: unknown = JSON.parse(line.toString("utf8"));
    return isJsonObject(fields) ? fields : undefined;
  } catch {
    return undefined; // damaged: the caller reports the bytes
  }
}

/**
 * Reads the rest of a commit line whose seal holds.
 *
 * @throws ThroughlineError `THROUGHLINE_CORRUPT`: it is sealed, and yet no commit line.
 */
export function headOf(line: Buffer): CommitHead {
  const fields = parseLine(line);
  if (typeof fields?.["key"] !== "string") {
    const message = "a commit line is no JSON object with a key, though its checksum is right";
    throw corrupt(message);
  }
  const { _type, kind, format, seq, count, bytes, prev, crc, key, damaged, ...head } = fields;
  return { key: fields["key"], damaged: damaged === true, headJson: JSON.stringify(head) };
}

/** Whether the CRC that the commit line ends with is that of the batch; `batch` holds both. */
export function isSealed(batch: Buffer, crc: string): boolean {
  const end = batch.length - sealBytes;
  if (end <= 0 || batch.toString("latin1", end) !== `${crcStart}${crc}"}\n`) return false;
  return hexCrc(batch.subarray(0, end)) === crc;
}

/**
 * Refuses the file of a later version by its first line, where no commit line could be read. One flipped
 * bit can make a later version of ours; then the commits say that it is not.
 *
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`.
 */
export function refuseNewerHeader(line: Buffer): void {
  if (!beginsWithHeader(line)) return;
  const version = /^\d+/.exec(line.toString("latin1", headerStart.length, headerStart.length + 9));
  refuseNewer(Number(version?.[0] ?? 0));
}
const headerStart = Buffer.from(`{"_type":"metadata","kind":"log","format":`);

/** Whether a file that begins so begins with the header of a log. */
export function beginsWithHeader(bytes: Buffer): boolean {
  return bytes.subarray(0, headerStart.length).equals(headerStart);
}

/** Whether these bytes are the beginning of a header, and no more than that; also no bytes are. */
export function isHalfHeader(bytes: Buffer): boolean {
  return headerStart.subarray(0, bytes.length).equals(bytes);
}

/** Whether a line of these bytes begins as a commit line does; its seal need not hold. */
export function holdsCommitLine(bytes: Buffer): boolean {
  const start = commitStartBytes;
  return bytes.subarray(0, start.length).equals(start) || bytes.includes(`\n${commitStart}`);
}

/** Whether a line of these bytes, not the first, begins as a record does, or the last ends in a seal. */
export function holdsPartOfBatch(bytes: Buffer): boolean {
  if (/^,"crc":"[0-9a-f]{8}"\}\n$/.test(bytes.toString("latin1", bytes.length - sealBytes)))
    return true;
  return /\n\{"id":"(?:[^"\\\n]|\\.){1,1536}","seq":\d/.test(bytes.toString("latin1"));
}

/** @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`. */
export function refuseNewer(format: number): void {
  if (format > formatVersion) {
    throw new ThroughlineError(
      `This log has format ${format}; this version of Throughline reads up to ${formatVersion}. ` +
        "It was left as it is: use the version that wrote it, or a later one.",
      { code: "THROUGHLINE_NEWER_FORMAT" },
    );
  }
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** The CRC-32 of bytes, or of the UTF-8 of a text, as 8 hex digits. */
export function hexCrc(bytes: Buffer | string): string {
  return crc32(bytes).toString(16).padStart(8, "0");
}
