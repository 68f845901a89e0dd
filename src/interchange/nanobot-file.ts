import { createHash } from "node:crypto";
import { foreignRecord, isMessage } from "../core/chat/message.ts";
import { checkJson, type JsonObject } from "../core/json.ts";
import { hashOf } from "../core/storage/file-store.ts";
import { logLimits, type StoredRecord } from "../core/storage/log-store.ts";
import { type AttachmentPart, attachmentPart } from "./attachment-parts.ts";
import type { Form } from "./head-lines.ts";
import { refusalOf } from "./import.ts";
import { type Line, readLine, splitLines } from "./lines.ts";
import { seedRecord } from "./nanobot-message.ts";
import { isHeadLine, lostRecord, type OwnRecord, ownRecord } from "./own-record.ts";

/** One thing that stands in a file, in its order. */
type Entry =
  | { readonly kind: "head"; readonly fields: JsonObject; readonly line: Line }
  | RecordEntry
  | { readonly kind: "attachment"; readonly part: AttachmentPart }
  | { readonly kind: "unreadable"; readonly line: Line; readonly reason: string };

export interface RecordEntry {
  readonly kind: "message" | "foreign" | "control";
  readonly record: OwnRecord;
  /** To be stored before the record, which refers to it. */
  readonly file?: Uint8Array;
  readonly notes: readonly string[];
}

interface ReadOptions {
  /** `"own"`: ids and control records are taken as they stand. */
  readonly form: Form;
  /** The chat that the ids are made for. */
  readonly chatId: string;
  /** A known zone, in which stamps without one are read. */
  readonly zone: string;
}

/** A record needs room for the number that the store adds. */
const maxRecordBytes = logLimits.recordBytes - 64;
/** A longer line is not read into memory at once. */
const maxLineBytes = 16 * 1024 * 1024;
/** Most records in a row that a file of ours may have lost. */
const mostLost = 100_000;
/** Of a message that is too large for a record: most characters of a field that stay in it. */
const keptChars = 64 * 1024;

/**
 * What stands in a file of the seed's format, or of ours, in bounded memory. Nothing is dropped and
 * nothing throws for what the bytes are: what cannot be used comes as `"unreadable"`.
 */
export async function* readEntries(
  bytes: AsyncIterable<Uint8Array>,
  options: ReadOptions,
): AsyncGenerator<Entry> {
  let last = 0;
  for await (const line of splitLines(bytes, maxLineBytes)) {
    if (line.part !== "whole") {
      yield unusable(line, `the line is longer than ${maxLineBytes} bytes`);
      continue;
    }
    const read = readLine(line.bytes);
    if (read === undefined) continue;
    if ("reason" in read) yield unusable(line, read.reason);
    else if (isHeadLine(read.object)) yield { kind: "head", fields: read.object, line };
    else if (options.form === "seed") yield seedEntry(read.object, line, read.notes, options);
    else {
      const entry = ownEntry(read.object, line, last);
      while ("seq" in entry && ++last < entry.seq) {
        yield { kind: "control", record: lostRecord(last), notes: ["a record is lost"] };
      }
      yield entry;
    }
  }
}

type OwnEntry = Exclude<Entry, RecordEntry> | (RecordEntry & { readonly seq: number });

/** @param last the number of the record before it. */
function ownEntry(object: JsonObject, line: Line, last: number): OwnEntry {
  const part = attachmentPart(object);
  if (part !== undefined) return { kind: "attachment", part };
  const own = ownRecord(object);
  if (own === undefined || own.seq <= last || own.seq > last + mostLost) {
    return unusable(line, "it is no record of the chat, or not the next one");
  }
  const { seq, record } = own;
  if (isTooLarge(record)) return unusable(line, "it is too large or too deep");
  const kind = isMessage(object as StoredRecord) ? "message" : "control";
  return { kind, record, seq, notes: [] };
}

function seedEntry(
  object: JsonObject,
  line: Line,
  notes: readonly string[],
  { chatId, zone }: ReadOptions,
): Entry {
  const part = attachmentPart(object);
  if (part !== undefined) return { kind: "attachment", part };
  const id = idOf(line, chatId);
  // A line that claims to be one of our control records is not one.
  const entry: RecordEntry =
    object["_type"] === "metadata"
      ? {
          kind: "foreign",
          record: foreignRecord(object, id),
          notes: ["a line like a control record is kept as a foreign record"],
        }
      : seedRecord(object, id, zone);
  if (isTooLarge(entry.record)) {
    return attached(entry, object) ?? unusable(line, "it is too large or too deep");
  }
  return { ...entry, notes: [...entry.notes, ...notes] };
}

/** Cuts a message that is too large for a record; all of it becomes a file that the message refers to. */
function attached(entry: RecordEntry, object: JsonObject): RecordEntry | undefined {
  if (entry.kind !== "message") return undefined;
  const file = Buffer.from(JSON.stringify(object));
  const { content, attachments = [], ...rest } = entry.record;
  const text = String(content)
    .slice(0, keptChars)
    .replace(/[\ud800-\udbff]$/, "");
  const small = Object.entries(rest).filter(
    ([, value]) => JSON.stringify(value).length <= keptChars,
  );
  const size = file.length;
  const whole = { name: "message.json", type: "application/json", size, sha256: hashOf(file) };
  const files = [...(Array.isArray(attachments) ? attachments : []), whole];
  const { id } = entry.record;
  const record: OwnRecord = { ...Object.fromEntries(small), id, content: text, attachments: files };
  if (isTooLarge(record)) return undefined;
  const note = "a message longer than 1 MiB is cut, and attached whole as message.json";
  return { ...entry, record, file, notes: [...entry.notes, note] };
}

function unusable(line: Line, reason: string): Exclude<Entry, RecordEntry> {
  return { kind: "unreadable", line, reason };
}

/** The same for the same line of the same chat, so that a repeated import adds nothing. */
function idOf(line: Line, chatId: string): string {
  const hash = createHash("sha256");
  hash.update(`${JSON.stringify(chatId)} ${line.number} `).update(line.bytes);
  return hash.digest("hex").slice(0, 24);
}

function isTooLarge(record: OwnRecord): boolean {
  if (refusalOf(() => checkJson(record, "record")) !== undefined) return true;
  return Buffer.byteLength(JSON.stringify(record)) > maxRecordBytes;
}

/**
 * The chat id that a file's name stands for: the first `_` was a `:`, and in `matrix_!room_server`
 * the last one too.
 */
export function chatIdOfName(name: string): string {
  const id = name.replace(/\.jsonl$/i, "").replace("_", ":");
  return /^matrix:!/.test(id) ? id.replace(/_([^_]*)$/, ":$1") : id;
}
