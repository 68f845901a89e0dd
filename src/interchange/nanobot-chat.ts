// Chats as nanobot's JSONL has them: whatever a line is, nothing of it is lost.
import { createHash } from "node:crypto";
import { isExtraSize, isMetadataSize, titleFrom } from "../core/chat/chat-head.ts";
import { foreignRecord } from "../core/chat/message.ts";
import { readStamp } from "../core/chat/stamp.ts";
import { isoTime } from "../core/clock.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { hashOf } from "../core/storage/file-store.ts";
import type { LogRecord } from "../core/storage/log-store.ts";
import { type At, type ChatForm, type Entry, isTooLarge, type RecordEntry } from "./chat-file.ts";
import type { Notes } from "./import.ts";
import { seedRecord } from "./nanobot-message.ts";

/** The fields that the format gives a metadata line. */
const seedNames = ["key", "created_at", "updated_at", "metadata", "last_consolidated"];
/** Of a message that is too large for a record: most characters of a field that stay in it. */
const keptChars = 64 * 1024;

export const nanobotChat: ChatForm = {
  entry(object, at): Entry {
    const entry = recordOf(object, at);
    if (!isTooLarge(entry.record)) return { ...entry, notes: [...entry.notes, ...at.notes] };
    const reason = "it is too large or too deep";
    return withWholeBeside(entry, object) ?? { kind: "unreadable", reason };
  },

  joined(before, { _type, kind, ...given }) {
    // A commit line of ours has no other fields than the format's; a `null` replaces nothing.
    const entries = Object.entries(given).filter(([name, value]) => {
      if (!seedNames.includes(name)) return kind === undefined;
      return value !== null || !Object.hasOwn(before, name);
    });
    const fields: JsonObject = { ...before, ...Object.fromEntries(entries) };
    const { metadata } = fields;
    const isSmall = !isJsonObject(metadata) || isMetadataSize(metadata);
    const areFew = isExtraSize(extraIn(fields));
    const kept = entries.filter(([name]) => {
      return name === "metadata" ? isSmall : areFew || seedNames.includes(name);
    });
    const isWhole = kept.length === entries.length;
    return { fields: { ...before, ...Object.fromEntries(kept) }, isWhole };
  },

  head(fields, { messages, lastAt, title, titleOf }, notes, zone) {
    const { metadata, last_consolidated } = fields;
    const own = isJsonObject(metadata) ? metadata : {};
    if (own !== metadata && metadata !== undefined && metadata !== null) {
      notes.add("metadata is not an object: left empty");
    }
    const extra = extraIn(fields);
    const chosen = typeof own["title"] === "string" ? titleFrom(own["title"]) : "";
    const named = chosen !== "" || titleOf === undefined ? {} : { title_of: titleOf };
    return {
      session: null,
      ...(Object.keys(extra).length > 0 && { extra }),
      created_at: stampOf("created_at", fields, notes, zone),
      updated_at: stampOf("updated_at", fields, notes, zone) || lastAt,
      metadata: own,
      last_consolidated: consolidated(last_consolidated, messages, notes),
      message_count: messages,
      title: chosen || title,
      ...named,
    };
  },
};

function recordOf(object: JsonObject, { line, zone }: At): RecordEntry {
  const id = idOf(line);
  if (object["_type"] !== "metadata") return seedRecord(object, id, zone);
  // A line that claims to be one of our control records is not one.
  const notes = ["a line like a control record is kept as a foreign record"];
  return { kind: "foreign", record: foreignRecord(object, id), notes };
}

/** Cuts a message that is too large for a record; all of it becomes a file that the message refers to. */
function withWholeBeside(entry: RecordEntry, object: JsonObject): RecordEntry | undefined {
  if (entry.kind !== "message") return undefined;
  const file = Buffer.from(JSON.stringify(object));
  const { id, content, attachments = [], ...rest } = entry.record;
  const text = String(content)
    .slice(0, keptChars)
    .replace(/[\ud800-\udbff]$/, "");
  const small = Object.entries(rest).filter(
    ([, value]) => JSON.stringify(value).length <= keptChars,
  );
  const size = file.length;
  const whole = { name: "message.json", type: "application/json", size, sha256: hashOf(file) };
  const files = [...(Array.isArray(attachments) ? attachments : []), whole];
  const record: LogRecord = { ...Object.fromEntries(small), id, content: text, attachments: files };
  if (isTooLarge(record)) return undefined;
  const note = "a message longer than 1 MiB is cut, and attached whole as message.json";
  return { ...entry, record, file, notes: [...entry.notes, note] };
}

/** The same for the same line, so that a repeated import adds nothing. */
function idOf({ number, bytes }: At["line"]): string {
  return createHash("sha256").update(`${number} `).update(bytes).digest("hex").slice(0, 24);
}

/** What the lines say that the format has no place for. */
function extraIn(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !seedNames.includes(name)));
}

function stampOf(name: string, fields: JsonObject, notes: Notes, zone: string): string {
  const stamp = readStamp(fields[name], zone);
  if (stamp === "unreadable") notes.add(`${name} is no date: left empty`);
  if (typeof stamp === "string") return "";
  if (stamp.isZoneAssumed) notes.add(`${name} has no zone: read in ${zone}`);
  return isoTime(stamp.at);
}

function consolidated(value: Json | undefined, messages: number, notes: Notes): number {
  const isCount = Number.isSafeInteger(value) && Number(value) >= 0 && !Object.is(value, -0);
  if (isCount && Number(value) <= messages) return Number(value);
  if (value !== undefined && value !== null) {
    notes.add("last_consolidated is not a number of messages of the file: set to 0");
  }
  return 0;
}
