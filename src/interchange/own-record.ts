// Records in a file of ours, which are taken as they stand.

import { isControl, isMessage } from "../core/chat/message.ts";
import { messageRecord } from "../core/chat/message-input.ts";
import { controlId, isControlId, markKinds } from "../core/chat/record-ids.ts";
import { instantOf } from "../core/chat/stamp.ts";
import type { JsonObject } from "../core/json.ts";
import { checkId } from "../core/storage/batch.ts";
import { erasedKind, type StoredRecord } from "../core/storage/log-store.ts";
import { refusalOf } from "./import.ts";

export type OwnRecord = JsonObject & { readonly id: string };

/** Whether a metadata line of ours describes the whole chat, and is no record. */
export function isHeadLine(line: JsonObject): boolean {
  const { _type, kind } = line;
  return _type === "metadata" && (kind === undefined || kind === "log" || kind === "commit");
}

/** The record as it was stored, with its number; `undefined` for what is not as we write it. */
export function ownRecord(
  line: JsonObject,
): { readonly seq: number; readonly record: OwnRecord } | undefined {
  const { seq, ...record } = line;
  const { id } = record;
  if (!Number.isSafeInteger(seq) || !isId(id)) return undefined;
  const stored = line as StoredRecord;
  const isOurs = isControl(stored)
    ? typeof line["kind"] === "string" && hasItsId(record, id)
    : !isControlId(id) && (!isMessage(stored) || isOwnMessage(record));
  return isOurs ? { seq: Number(seq), record: { ...record, id } } : undefined;
}

/** A record that stands for one that the file has lost: so all others keep their numbers. */
export function lostRecord(seq: number): OwnRecord {
  return { id: `lost:${seq}`, _type: "metadata", kind: erasedKind };
}

/** By its id a record about one message is found again. A later replacement of the same message has another. */
function hasItsId({ kind, target }: JsonObject, id: string): boolean {
  const known = markKinds.find((each) => each === kind);
  if (known === undefined || typeof target !== "string") return true;
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
