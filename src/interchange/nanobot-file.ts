import { createHash } from "node:crypto";
import { foreignRecord, isMessage } from "../core/chat/message.ts";
import { isThroughlineError } from "../core/errors.ts";
import { checkJson, type JsonObject } from "../core/json.ts";
import { hashOf } from "../core/storage/file-store.ts";
import { logLimits, type StoredRecord } from "../core/storage/log-store.ts";
import { type AttachmentPart, attachmentPart } from "./attachment-parts.ts";
import type { Form } from "./head-lines.ts";
import { type Line, readLine, splitLines } from "./lines.ts";
import { seedRecord } from "./nanobot-message.ts";
import { isHeadLine, type OwnRecord, ownId, ownRecord } from "./own-record.ts";

/** One thing that stands in a file, in its order. */
type Entry =
  | { readonly kind: "head"; readonly fields: JsonObject }
  | RecordEntry
  | { readonly kind: "attachment"; readonly part: AttachmentPart }
  | {
      readonly kind: "unreadable";
      readonly line: number;
      readonly offset: number;
      readonly bytes: Uint8Array;
      readonly reason: string;
      /** More of a line that is too long to come whole. */
      readonly continues: boolean;
    };

export interface RecordEntry {
  readonly kind: "message" | "foreign" | "control";
  readonly record: OwnRecord;
  /** The id to take where the file has one id twice: made of the place and the bytes. */
  readonly otherId: string;
  /** The number that the record had, in a file of ours. */
  readonly oldSeq?: number;
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
  for await (const line of splitLines(bytes, maxLineBytes)) {
    if (line.part !== "whole") {
      const place = { line: line.number, offset: line.offset, bytes: line.bytes };
      const reason = `the line is longer than ${maxLineBytes} bytes`;
      yield { kind: "unreadable", ...place, reason, continues: line.part === "rest" };
    } else yield* readWhole(line, options);
  }
}

function* readWhole(line: Line, options: ReadOptions): Generator<Entry> {
  const { objects, unreadable, notes } = readLine(line.bytes);
  for (const { start, end, reason } of unreadable) yield unusable(line, reason, start, end);
  for (const [index, object] of objects.entries()) {
    const entry = readObject(object, idOf(line, index, options.chatId), options);
    if (entry.kind === "head" || entry.kind === "attachment") yield entry;
    else if (isTooLarge(entry.record)) {
      yield attached(entry, object) ?? unusable(line, "it is too large or too deep");
    } else yield index === 0 ? { ...entry, notes: [...entry.notes, ...notes] } : entry;
  }
}

type Usable = Exclude<Entry, { readonly kind: "unreadable" }>;

function readObject(object: JsonObject, id: string, { form, zone }: ReadOptions): Usable {
  if (isHeadLine(object)) return { kind: "head", fields: object };
  const part = attachmentPart(object);
  if (part !== undefined) return { kind: "attachment", part };
  const own = form === "own" ? ownRecord(object) : undefined;
  if (own !== undefined) {
    const kind = isMessage(object as StoredRecord) ? "message" : "control";
    return { kind, record: own, otherId: id, oldSeq: Number(object["seq"]), notes: [] };
  }
  // A line that claims to be one of our control records is not one.
  if (object["_type"] === "metadata") {
    const notes = ["a line like a control record is kept as a foreign record"];
    return { kind: "foreign", record: foreignRecord(object, id), otherId: id, notes };
  }
  const kept = form === "own" ? (ownId(object) ?? id) : id;
  const { kind, record, notes } = seedRecord(object, kept, zone);
  return { kind, record, otherId: id, notes };
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

function unusable(line: Line, reason: string, start = 0, end = line.bytes.length): Entry {
  const bytes = line.bytes.subarray(start, end);
  const place = { line: line.number, offset: line.offset + start };
  return { kind: "unreadable", ...place, bytes, reason, continues: false };
}

/** The same for the same line of the same chat, so that a repeated import adds nothing. */
function idOf(line: Line, index: number, chatId: string): string {
  const hash = createHash("sha256");
  hash.update(`${JSON.stringify(chatId)} ${line.number} ${index} `).update(line.bytes);
  return hash.digest("hex").slice(0, 24);
}

function isTooLarge(record: OwnRecord): boolean {
  try {
    checkJson(record, "record");
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    return true;
  }
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
