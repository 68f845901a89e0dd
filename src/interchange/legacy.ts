import {
  name,
  openBuckets,
  type Period,
  type ProviderSession,
  periodLimits,
} from "../core/chat/period.ts";
import { instantOf, readStamp, stampOf } from "../core/chat/stamp.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import {
  extensible,
  mended,
  notesOf,
  nullAsAbsent,
  number,
  object,
  optional,
  Place,
  storable,
  text,
  whole,
} from "../core/shape.ts";

/** One chat out of the original's `sessions.json`, which holds an entry a chat, by chat id. */
export interface Imported {
  readonly chatId: string;
  /** Absent when the entry is no object: there is nothing to begin from. */
  readonly state?: Period;
  /**
   * What ours has no place for: unknown keys, and under its own key each value of a known key that
   * could not be read. Give it back to `toDuctor`.
   */
  readonly unknown: JsonObject;
  /** What was put right, for the report: sentences that quote no value. */
  readonly notes: readonly string[];
}

const targetShape = object(
  { provider: mended(name, "claude"), model: mended(name, "opus") },
  "left out",
);
const count = mended(whole(0, periodLimits.count, 0), 0);
const bucketFields = {
  session_id: nullAsAbsent(mended(text(undefined, ""), "")),
  message_count: count,
  total_cost_usd: mended(number(0, periodLimits.costUsd, 0), 0),
  total_tokens: count,
};
const bucketShape = extensible({
  ...bucketFields,
  unpriced_tokens: mended(optional(count), undefined),
});
/** No date, so that the first freshness rule ends the period. */
const unreadable = "unreadable";

/**
 * Reads one entry. Never throws for what an entry holds: bad values are replaced and noted.
 *
 * @param key the entry's key: a whole number is a Telegram chat, any other text is kept.
 * @param now milliseconds since 1970: the moment of the import, for a missing last act.
 * @param zone a known zone, in which stamps without one are read.
 */
export function fromDuctor(entry: unknown, key: string, now: number, zone = "UTC"): Imported {
  const chatId = /^(?:0|-?[1-9]\d*)$/.test(key) ? `telegram:${key}` : key;
  if (!isJsonObject(entry)) {
    return { chatId, unknown: {}, notes: ["the entry is not an object: nothing was read"] };
  }
  const at = new Place();
  const { provider, model, provider_sessions: given, ...rest } = { ...entry }; // only its own fields
  const target = targetShape.read({ provider, model }, at);
  const { buckets, left } = readBuckets(given, at);
  const flat = Object.entries(rest).filter(([key]) => Object.hasOwn(bucketFields, key));
  const isFlat = flat.length > 0 && Object.keys(buckets).length === 0;
  if (isFlat) {
    buckets[target.provider] = readBucket(Object.fromEntries(flat), at);
    at.says("the flat fields of an older version became the bucket of the current provider");
  }
  const { stamps, unread } = readStamps(rest, now, zone, at);
  const unknown = Object.entries(rest).filter(([key, value]) => {
    if (key === "chat_id") return value !== ductorId(chatId);
    if (key === "created_at" || key === "last_active") return unread.includes(key);
    return !(isFlat && Object.hasOwn(bucketFields, key));
  });
  if (left !== undefined) unknown.push(["provider_sessions", left]);
  const begun = { generation: 1, start_seq: 0, ...stamps, ...target };
  const state: Period = { ...begun, provider_sessions: { ...buckets } };
  return { chatId, state, unknown: storable(unknown, at), notes: notesOf(at) };
}

/** The entry and its key in the original's form. Stamps are in UTC, as the original writes them. */
export function toDuctor(
  chatId: string,
  state: Period,
  { provider_sessions: skipped, ...unknown }: JsonObject = {},
): { readonly key: string; readonly entry: JsonObject } {
  const id = ductorId(chatId);
  const buckets = Object.entries(openBuckets(state)).map(([provider, bucket]) => {
    const { generation: _, ...rest } = bucket;
    return [provider, rest] as const;
  });
  const isLeft = skipped !== undefined && !isJsonObject(skipped) && buckets.length === 0;
  const others = isJsonObject(skipped) ? skipped : {};
  const entry = {
    chat_id: id,
    ...unknown,
    provider: state.provider,
    model: state.model,
    created_at: ductorStamp(state.started_at, unknown["created_at"]),
    last_active: ductorStamp(state.human_at, unknown["last_active"]),
    provider_sessions: isLeft ? skipped : { ...others, ...Object.fromEntries(buckets) },
  };
  return { key: String(id), entry };
}

function ductorId(chatId: string): string | number {
  const digits = /^telegram:(0|-?[1-9]\d*)$/.exec(chatId)?.[1];
  if (digits === undefined) return chatId;
  return Number.isSafeInteger(Number(digits)) ? Number(digits) : digits;
}

function ductorStamp(stamp: string, raw: Json | undefined): Json {
  if (instantOf(stamp) !== undefined) return stamp.replace(/Z$/, "+00:00");
  return raw ?? stamp;
}

function readBucket(value: JsonObject, at: Place): ProviderSession {
  return { ...bucketShape.read(value, at), generation: 1 };
}

/** Reads the buckets. `left`: what of them is none. */
function readBuckets(given: Json | undefined, at: Place) {
  const buckets: Record<string, ProviderSession> = Object.create(null); // any name is one
  if (given === undefined || given === null) return { buckets };
  if (!isJsonObject(given)) {
    at.says("provider_sessions is not an object: skipped");
    return { buckets, left: given };
  }
  const skipped: [string, Json | undefined][] = [];
  for (const [provider, bucket] of Object.entries(given)) {
    if (!isJsonObject(bucket)) skipped.push([provider, bucket]);
    else {
      buckets[provider] = readBucket(bucket, at);
      if (Object.hasOwn(bucket, "generation")) at.says("a bucket's generation is left out");
    }
  }
  if (skipped.length === 0) return { buckets };
  const all = Object.keys(given).length;
  at.says(`${skipped.length} of ${all} provider_sessions are not objects: skipped`);
  return { buckets, left: storable(skipped, at) };
}

interface Stamps {
  readonly started_at: string;
  readonly human_at: string;
  human_at_assumed?: true;
  tz_assumed?: true;
}

/** Reads the two stamps of an entry. `unread`: the names of those that are no date. */
function readStamps(entry: JsonObject, now: number, zone: string, at: Place) {
  const unread: string[] = [];
  let isZoneAssumed = false;
  const read = (key: string) => {
    const stamp = readStamp(entry[key], zone);
    if (typeof stamp === "object") {
      if (stamp.isZoneAssumed) at.says(`${key} has no zone: read in ${zone}`);
      isZoneAssumed ||= stamp.isZoneAssumed;
      return stamp.at;
    }
    at.says(stamp === "absent" ? `${key} is missing: assumed` : `${key} is no date`);
    if (stamp === "unreadable") unread.push(key);
    return undefined;
  };
  const last = read("last_active");
  const humanAt = last ?? now;
  // Without a start of its own a period began, at the latest, when a person last acted.
  const started_at = stampOf(read("created_at") ?? humanAt);
  const isUnread = unread.includes("last_active");
  const isAssumed = last === undefined && !isUnread;
  const stamps: Stamps = {
    started_at,
    human_at: isUnread ? unreadable : stampOf(humanAt),
  };
  if (isAssumed) stamps.human_at_assumed = true;
  if (isZoneAssumed) stamps.tz_assumed = true;
  return { stamps, unread };
}
