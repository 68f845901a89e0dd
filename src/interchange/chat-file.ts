// A file that is one chat, as a first reading finds it: a line is a record, a part of the head, or what is left out.
import { attachedIn } from "../core/chat/attachments.ts";
import { type ChatHead, titleFrom } from "../core/chat/chat-head.ts";
import { checkChatId } from "../core/chat/chat-log.ts";
import { checkJson, type JsonObject } from "../core/json.ts";
import { hashOf } from "../core/storage/file-store.ts";
import { type LogRecord, logLimits } from "../core/storage/log-store.ts";
import { type AttachmentPart, AttachmentParts, attachmentPart } from "./attachment-parts.ts";
import { chatIdOfName } from "./file-names.ts";
import { maxListed, Notes, refusalOf, type SetAside, type Source } from "./import.ts";
import { type Line, readLine, splitLines } from "./lines.ts";
import { measured } from "./read-source.ts";

/** One thing that stands in a file, in its order. */
export type Entry =
  | RecordEntry
  | { readonly kind: "head"; readonly fields: JsonObject }
  | { readonly kind: "attachment"; readonly part: AttachmentPart }
  | { readonly kind: "unreadable"; readonly reason: string };

export interface RecordEntry {
  readonly kind: "message" | "foreign" | "control";
  readonly record: LogRecord;
  /** To be stored before the record, which refers to it. */
  readonly file?: Uint8Array;
  readonly notes: readonly string[];
}

/** What a line is read with. */
export interface At {
  readonly line: Line & { readonly bytes: Uint8Array };
  /** What was put right in the line. */
  readonly notes: readonly string[];
  /** Records of the file before it. */
  readonly records: number;
  /** A known zone, in which stamps without one are read. */
  readonly zone: string;
}

/** What is known of a file once all of it was read. */
interface Counted {
  readonly records: number;
  readonly messages: number;
  /** The last stamp of a message; "" when there is none. */
  readonly lastAt: string;
  /** The first thing that a person said. */
  readonly title: string;
  readonly titleOf: string | undefined;
}

/** A format of files that are one chat. */
export interface ChatForm {
  /** What an object is that is neither a part of the head nor an attachment. */
  entry(object: JsonObject, at: At): Entry;
  /**
   * Adds a metadata line to what those before it said.
   *
   * @returns `isWhole`: false if something of it is left out, since a chat has no room for it.
   */
  joined(
    before: JsonObject,
    line: JsonObject,
  ): { readonly fields: JsonObject; readonly isWhole: boolean };
  /** @throws ThroughlineError `THROUGHLINE_INVALID`: a field is not as it should be. */
  head(fields: JsonObject, counted: Counted, notes: Notes, zone: string): ChatHead;
}

/** A record needs room for the number that the store adds. */
const maxRecordBytes = logLimits.recordBytes - 64;
/** A longer line is not read into memory at once. */
const maxLineBytes = 16 * 1024 * 1024;

export function isTooLarge(record: LogRecord): boolean {
  if (refusalOf(() => checkJson(record, "record")) !== undefined) return true;
  return Buffer.byteLength(JSON.stringify(record)) > maxRecordBytes;
}

/**
 * What stands in a file, with the line of each, in bounded memory. Nothing is dropped and
 * nothing throws for what the bytes are: what cannot be used comes as `"unreadable"`.
 */
export async function* readEntries(
  bytes: AsyncIterable<Uint8Array>,
  form: ChatForm,
  zone: string,
): AsyncGenerator<readonly [Line, Entry]> {
  let records = 0;
  for await (const line of splitLines(bytes, maxLineBytes)) {
    const entry = entryOf(line, form, { zone, records });
    if (entry === undefined) continue;
    if ("record" in entry) records++;
    yield [line, entry];
  }
}

/** `undefined`: the line is empty. */
function entryOf(line: Line, form: ChatForm, at: Pick<At, "records" | "zone">): Entry | undefined {
  const { bytes } = line;
  if (bytes === undefined) {
    return { kind: "unreadable", reason: `the line is longer than ${maxLineBytes} bytes` };
  }
  const read = readLine(bytes);
  if (read === undefined) return undefined;
  if ("reason" in read) return { kind: "unreadable", reason: read.reason };
  const { object, notes } = read;
  const { _type, kind } = object;
  const isHead = kind === undefined || kind === "log" || kind === "commit";
  if (_type === "metadata" && isHead) return { kind: "head", fields: object };
  const part = attachmentPart(object);
  if (part !== undefined) return { kind: "attachment", part };
  return form.entry(object, { ...at, line: { ...line, bytes }, notes });
}

/** What a first reading of a file finds. */
export type Scan = Awaited<ReturnType<typeof scan>>;

/**
 * Reads a file to its end.
 *
 * @throws ThroughlineError `THROUGHLINE_CORRUPT`: an attachment in it is damaged.
 */
export async function scan(source: Source, form: ChatForm, zone: string) {
  const notes = new Notes();
  const counts = { heads: 0, records: 0, messages: 0, foreign: 0, unreadable: 0 };
  const setAside: SetAside[] = [];
  /** The files that its records refer to, and those that are in it. */
  const attached = new Set<string>();
  const given = new Set<string>();
  const parts = new AttachmentParts();
  let fields: JsonObject = {};
  let lastAt = "";
  let title: { readonly title: string; readonly titleOf: string | undefined } | undefined;
  let endsWithHead = false;
  const leave = ({ number, offset, length }: Line, reason: string) => {
    counts.unreadable++;
    if (setAside.length === maxListed) return;
    setAside.push({ source: source.name, line: number, offset, bytes: length, reason });
  };
  const { chunks, size } = measured(source.bytes);
  for await (const [line, entry] of readEntries(chunks, form, zone)) {
    endsWithHead = entry.kind === "head";
    if (entry.kind === "unreadable") leave(line, entry.reason);
    else if (entry.kind === "head") {
      counts.heads++;
      const joined = form.joined(fields, entry.fields);
      fields = joined.fields;
      if (!joined.isWhole) leave(line, "its metadata is larger than a chat takes");
    } else if (entry.kind === "attachment") {
      const whole = parts.add(entry.part);
      if (whole !== undefined) given.add(hashOf(whole));
    } else {
      const { kind, record, file } = entry;
      counts.records++;
      notes.add(...entry.notes);
      if (file !== undefined) given.add(hashOf(file));
      for (const hash of attachedIn(record)) attached.add(hash);
      if (kind === "foreign") counts.foreign++;
      if (kind !== "message") continue;
      counts.messages++;
      lastAt = String(record["timestamp"] || lastAt);
      const isShown = record["role"] === "user" && record["hidden"] !== true;
      const text = isShown && title === undefined ? titleFrom(String(record["content"])) : "";
      if (text !== "") title = { title: text, titleOf: record.id };
    }
  }
  for (const hash of attached) {
    if (!given.has(hash)) notes.add("an attachment of a message is not in the file");
  }
  return {
    source,
    /** The chat that the file is. */
    chatId: chatIdIn(fields, notes) ?? chatIdOfName(source.name),
    fields,
    ...size(),
    ...counts,
    ...(title ?? { title: "", titleOf: undefined }),
    lastAt,
    attached,
    setAside,
    /** Its last line is a head line behind something, as of every file that we wrote to its end. */
    hasEnd: endsWithHead && (counts.records > 0 || counts.heads > 1),
    notes,
  };
}

/** The chat that a file names, if it does, and if that can be a chat. */
function chatIdIn({ key }: JsonObject, notes: Notes): string | undefined {
  if (key === undefined || key === null) return undefined;
  if (refusalOf(() => checkChatId(key)) === undefined) return String(key);
  notes.add("the chat id in the file cannot be used: taken from its name");
  return undefined;
}
