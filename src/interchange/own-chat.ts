// Chats as `export --format throughline` writes them: records are taken as they stand.
import { type ChatHead, readHead } from "../core/chat/chat-head.ts";
import { isControl, isMessage } from "../core/chat/message.ts";
import { messageRecord } from "../core/chat/message-input.ts";
import { type Period, periodShape } from "../core/chat/period.ts";
import { controlId, isControlId, markKinds } from "../core/chat/record-ids.ts";
import { instantOf } from "../core/chat/stamp.ts";
import type { JsonObject } from "../core/json.ts";
import {
  checked,
  extensible,
  list,
  nullAsAbsent,
  nullable,
  object,
  optional,
  record,
  required,
  type Shape,
  text,
  whole,
} from "../core/shape.ts";
import { checkId } from "../core/storage/batch.ts";
import { type LogRecord, reservedHeadNames, type StoredRecord } from "../core/storage/log-store.ts";
import { type ChatForm, type Entry, isTooLarge } from "./chat-file.ts";
import { refusalOf } from "./import.ts";

export const ownChat: ChatForm = {
  entry(line, { records }): Entry {
    const own = ownRecord(line);
    if (own?.seq !== records + 1) {
      return { kind: "unreadable", reason: "it is no record of the chat, or not the next one" };
    }
    const { record } = own;
    if (isTooLarge(record)) return { kind: "unreadable", reason: "it is too large or too deep" };
    const kind = isMessage(line as StoredRecord) ? "message" : "control";
    return { kind, record, notes: [] };
  },

  joined(before, { _type, kind, ...given }) {
    const reserved: readonly string[] = reservedHeadNames;
    const entries = Object.entries(given).filter(([name]) => {
      return name === "key" || !reserved.includes(name);
    });
    // A commit line has the whole head: what it lacks was taken out, such as a summary of what is hidden since.
    const known = kind === "commit" ? {} : before;
    return { fields: { ...known, ...Object.fromEntries(entries) }, isWhole: true };
  },

  head(fields, { records, messages }) {
    const { key: _, unfinished: __, ...given } = fields;
    const head = readHead(required(headShape(records, messages), given, "its last line"));
    const { session } = head;
    // Not what was read of it, which has another order.
    const was = given["session"] as JsonObject;
    const provider_sessions = was?.["provider_sessions"] ?? {};
    // A cursor beyond the messages would hide a whole history.
    const isHidden = head.last_consolidated > head.message_count;
    const start_seq = Math.min(session?.start_seq ?? 0, records);
    const whole: ChatHead = {
      ...head,
      last_consolidated: isHidden ? 0 : head.last_consolidated,
      session: session && ({ ...was, provider_sessions, start_seq } as Period),
    };
    // Every field keeps its place, so that what is written out again is the same.
    return {
      ...Object.fromEntries(Object.keys(given).map((name) => [name, whole[name]])),
      ...whole,
    };
  },
};

const recordId = checked(text(), (id, at) => {
  if (!isId(id)) at.says("must be the id of a record");
});

/** No number is larger than what the file has. */
function headShape(records: number, messages: number): Shape<JsonObject> {
  const count = (otherwise: number) => whole(0, Number.MAX_SAFE_INTEGER, otherwise);
  const upTo = (most: number, otherwise = 0): Shape<number> => ({
    ...count(otherwise),
    read: (value, at) => Math.min(count(otherwise).read(value, at), most),
  });
  const stamp = nullAsAbsent(text(undefined, ""));
  return extensible({
    created_at: stamp,
    updated_at: stamp,
    message_count: upTo(messages, messages),
    last_consolidated: upTo(messages),
    title: text(undefined, ""),
    title_of: optional(text()),
    clear_seq: optional(upTo(records)),
    cleared_count: optional(upTo(messages)),
    // What it says to the person and to the model is not taken from a file.
    open_turn: optional(object({ id: text(), seq: upTo(records), attempts: count(0) }, "left out")),
    pending: optional(list(text())),
    summary: optional(
      object({ id: recordId, up_to_seq: upTo(records), after_seq: upTo(records) }, "left out"),
    ),
    view_from: optional(record(upTo(records))),
    provider_start: optional(record(upTo(records))),
    session: optional(nullable(periodShape)),
  }) as unknown as Shape<JsonObject>;
}

/** The record as it was stored, with its number; `undefined` for what is not as we write it. */
function ownRecord(
  line: JsonObject,
): { readonly seq: number; readonly record: LogRecord } | undefined {
  const { seq, ...record } = line;
  const { id } = record;
  if (!Number.isSafeInteger(seq) || !isId(id)) return undefined;
  const stored = line as StoredRecord;
  const { kind } = record;
  const isWaiting = kind === "pending_input";
  const isOurs = isControl(stored)
    ? typeof kind === "string" &&
      hasItsId(record, id) &&
      (!isWaiting || isOwnMessage({ ...record, role: "user" }))
    : !isControlId(id) && (!isMessage(stored) || isOwnMessage(record));
  return isOurs ? { seq: Number(seq), record: { ...record, id } } : undefined;
}

/** By its id a record about one message is found again. A later replacement of the same message has another. */
function hasItsId({ kind, target }: JsonObject, id: string): boolean {
  const known = markKinds.find((each) => each === kind);
  if (known === undefined) return markKinds.every((each) => !id.startsWith(controlId(each, "")));
  if (typeof target !== "string") return true;
  return known === "replacement" ? isControlId(id) : id === controlId(known, target);
}

function isOwnMessage(message: JsonObject): boolean {
  const { timestamp, ...rest } = message;
  if (timestamp !== "" && instantOf(timestamp) === undefined) return false;
  const check = () => messageRecord(rest, () => "x", "1970-01-01T00:00:00.000Z");
  return refusalOf(check) === undefined;
}

function isId(id: unknown): id is string {
  return refusalOf(() => checkId(id, "id")) === undefined;
}
