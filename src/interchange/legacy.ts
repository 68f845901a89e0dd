import { isExtraSize } from "../core/chat/chat-head.ts";
import { name, openBuckets, type Period, periodLimits } from "../core/chat/period.ts";
import { readStamp, stampOf } from "../core/chat/stamp.ts";
import { invalid } from "../core/errors.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import {
  extensible,
  isStorable,
  nullAsAbsent,
  number,
  object,
  optional,
  record,
  required,
  text,
  whole,
} from "../core/shape.ts";

/** One chat out of the original's `sessions.json`, which holds an entry a chat, by chat id. */
export interface Imported {
  readonly chatId: string;
  readonly state: Period;
  /** What ours has no place for. Give it back to `toDuctor`. */
  readonly unknown: JsonObject;
  /** What was put right, for the report: sentences that quote no value. */
  readonly notes: readonly string[];
}

const count = nullAsAbsent(whole(0, periodLimits.count, 0));
const bucketFields = {
  session_id: nullAsAbsent(text(undefined, "")),
  message_count: count,
  total_cost_usd: nullAsAbsent(number(0, periodLimits.costUsd, 0)),
  total_tokens: count,
};
const bucketShape = extensible({ ...bucketFields, unpriced_tokens: optional(count) });
const flatShape = object(bucketFields, "left out");
const entryShape = object(
  { provider: name, model: name, provider_sessions: nullAsAbsent(record(bucketShape)) },
  "left out",
);
/** The fields that become a period, or say again what the key says. */
const knownNames = ["provider", "model", "created_at", "last_active", "provider_sessions"];

/** The chat of an entry: a whole number is one of Telegram, any other key is kept. */
export function chatOfKey(key: string): string {
  return /^(?:0|-?[1-9]\d*)$/.test(key) ? `telegram:${key}` : key;
}

/**
 * Reads one entry.
 *
 * @param now milliseconds since 1970: the moment of the import, for a missing last act.
 * @param zone a known zone, in which stamps without one are read.
 * @throws ThroughlineError `THROUGHLINE_INVALID`: it is no entry as the original writes it.
 */
export function fromDuctor(entry: unknown, key: string, now: number, zone = "UTC"): Imported {
  const chatId = chatOfKey(key);
  if (!isJsonObject(entry)) throw invalid("the entry is not an object");
  const said = Object.entries(entry).filter(([, value]) => value !== null);
  const given: JsonObject = { provider: "claude", model: "opus", ...Object.fromEntries(said) };
  const { provider_sessions: buckets, ...target } = required(entryShape, given, "the entry");
  const flat = Object.keys(bucketFields).filter((field) => Object.hasOwn(entry, field));
  const isFlat = flat.length > 0 && Object.keys(buckets).length === 0;
  const all = isFlat ? { [target.provider]: required(flatShape, entry, "the entry") } : buckets;
  const notes: string[] = [];
  if (isFlat) notes.push("the fields of an older version became the part of its provider");
  const stampIn = (field: string) => {
    const stamp = readStamp(given[field], zone);
    if (stamp === "unreadable") throw invalid(`${field} is no date`);
    if (stamp === "absent") notes.push(`${field} is missing: assumed`);
    else if (stamp.isZoneAssumed) notes.push(`${field} has no zone: read in ${zone}`);
    return stamp === "absent" ? undefined : stamp;
  };
  const last = stampIn("last_active");
  const humanAt = last?.at ?? now;
  // Without a start of its own a period began, at the latest, when a person last acted.
  const first = stampIn("created_at");
  const parts = Object.entries(all).map(([provider, part]) => [
    provider,
    { ...part, generation: 1 },
  ]);
  const state: Period = {
    generation: 1,
    start_seq: 0,
    started_at: stampOf(first?.at ?? humanAt),
    human_at: stampOf(humanAt),
    ...(last === undefined && { human_at_assumed: true as const }),
    ...((first?.isZoneAssumed || last?.isZoneAssumed) && { tz_assumed: true as const }),
    ...target,
    provider_sessions: Object.fromEntries(parts),
  };
  const others = Object.entries(entry).filter(([field, value]) => {
    if (field === "chat_id") return value !== ductorId(chatId);
    return !knownNames.includes(field) && !(isFlat && flat.includes(field));
  });
  const unknown = Object.fromEntries(others) as JsonObject;
  if (!isStorable(unknown)) throw invalid("its other keys cannot be stored");
  if (!isExtraSize(unknown)) throw invalid("its other keys are larger than a chat takes");
  return { chatId, state, unknown, notes };
}

/** The entry and its key in the original's form. Stamps are in UTC, as the original writes them. */
export function toDuctor(
  chatId: string,
  state: Period,
  unknown: JsonObject = {},
): { readonly key: string; readonly entry: JsonObject } {
  const id = ductorId(chatId);
  const buckets = Object.entries(openBuckets(state)).map(([provider, bucket]) => {
    const { generation: _, ...rest } = bucket;
    return [provider, rest] as const;
  });
  const entry = {
    chat_id: id,
    ...unknown,
    provider: state.provider,
    model: state.model,
    created_at: ductorStamp(state.started_at),
    last_active: ductorStamp(state.human_at),
    provider_sessions: Object.fromEntries(buckets),
  };
  return { key: String(id), entry };
}

function ductorId(chatId: string): string | number {
  const digits = /^telegram:(0|-?[1-9]\d*)$/.exec(chatId)?.[1];
  if (digits === undefined) return chatId;
  return Number.isSafeInteger(Number(digits)) ? Number(digits) : digits;
}

const ductorStamp = (stamp: string) => stamp.replace(/Z$/, "+00:00");
