import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { notesOf, own, Place, storable } from "../shape.ts";
import { openBuckets, type Period, type ProviderSession } from "./period.ts";
import { instantOf, readStamp, stampOf } from "./stamp.ts";
import { bucketKeys, foreignBucket, nameOr } from "./stored-period.ts";

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

const provider = nameOr("claude");
const model = nameOr("opus");
const stampKeys = ["last_active", "created_at"] as const;
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
  const target = {
    provider: provider.read(own(entry, "provider"), at.in("provider")),
    model: model.read(own(entry, "model"), at.in("model")),
  };
  const given = own(entry, "provider_sessions");
  const { sessions, left } = readBuckets(given, at);
  const flat = bucketKeys.map((name) => [name, own(entry, name)] as const);
  const isMigrated = Object.keys(sessions).length === 0;
  if (isMigrated && flat.some(([, value]) => value !== undefined)) {
    sessions[target.provider] = readBucket(Object.fromEntries(flat), at);
    at.says("the flat fields of an older version became the bucket of the current provider");
  }
  const stamps = readStamps(entry, now, zone, at);
  const ours = ["provider", "model", "provider_sessions", ...(isMigrated ? bucketKeys : [])];
  const others = Object.entries(entry).filter(([name, value]) => {
    const isStamp = stampKeys.some((each) => each === name);
    if (isStamp) return stamps.unread.includes(name);
    return !ours.includes(name) && (name !== "chat_id" || value !== ductorId(chatId));
  });
  const kept = left === undefined ? others : [...others, ["provider_sessions", left] as const];
  const provider_sessions = { ...sessions };
  const state: Period = {
    generation: 1,
    start_seq: 0,
    ...stamps.read,
    ...target,
    provider_sessions,
  };
  return { chatId, state, unknown: storable(kept, at), notes: notesOf(at) };
}

/** The entry and its key in the original's form. Stamps are in UTC, as the original writes them. */
export function toDuctor(
  chatId: string,
  state: Period,
  unknown: JsonObject = {},
): { readonly key: string; readonly entry: JsonObject } {
  const id = ductorId(chatId);
  const sessions = Object.entries(openBuckets(state)).map(([name, bucket]) => {
    const { generation: _, ...rest } = bucket;
    return [name, rest] as const;
  });
  const skipped = own(unknown, "provider_sessions");
  const entry = {
    chat_id: id,
    ...unknown,
    provider: state.provider,
    model: state.model,
    created_at: ductorStamp(state.started_at, own(unknown, "created_at")),
    last_active: ductorStamp(state.human_at, own(unknown, "last_active")),
    provider_sessions:
      skipped !== undefined && !isJsonObject(skipped) && sessions.length === 0
        ? skipped
        : { ...(skipped as JsonObject | undefined), ...Object.fromEntries(sessions) },
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

const readBucket = (value: unknown, at: Place): ProviderSession => ({
  ...foreignBucket.read(value, at),
  generation: 1,
});

/** Reads the buckets. `left`: what of them is none. */
function readBuckets(given: Json | undefined, at: Place) {
  const sessions: Record<string, ProviderSession> = Object.create(null);
  if (!isJsonObject(given)) {
    const isNone = given === undefined || given === null;
    if (!isNone) at.says("provider_sessions is not an object: skipped");
    return { sessions, left: isNone ? undefined : given };
  }
  const all = Object.entries(given);
  const skipped = all.filter(([, bucket]) => !isJsonObject(bucket));
  for (const [name, bucket] of all) {
    if (!isJsonObject(bucket)) continue;
    sessions[name] = readBucket(bucket, at);
    if (Object.hasOwn(bucket, "generation")) at.says("a bucket's generation is left out");
  }
  if (skipped.length === 0) return { sessions, left: undefined };
  at.says(`${skipped.length} of ${all.length} provider_sessions are not objects: skipped`);
  return { sessions, left: storable(skipped, at) };
}

function readStamps(entry: JsonObject, now: number, zone: string, at: Place) {
  const [human, start] = stampKeys.map((name) => {
    const stamp = readStamp(own(entry, name), zone);
    if (stamp === "absent") at.says(`${name} is missing: assumed`);
    else if (stamp === "unreadable") at.says(`${name} is no date`);
    else if (stamp.isZoneAssumed) at.says(`${name} has no zone: read in ${zone}`);
    return stamp;
  });
  const unread = stampKeys.filter((_, index) => [human, start][index] === "unreadable");
  const humanAt = typeof human === "object" ? human.at : now;
  // Without a start of its own a period began, at the latest, when a person last acted.
  const startedAt = typeof start === "object" ? start.at : humanAt;
  const isZoneAssumed = [human, start].some((stamp) => Object(stamp).isZoneAssumed === true);
  const read = {
    started_at: stampOf(startedAt),
    human_at: human === "unreadable" ? unreadable : stampOf(humanAt),
    ...(human === "absent" ? { human_at_assumed: true as const } : undefined),
    ...(isZoneAssumed ? { tz_assumed: true as const } : undefined),
  };
  return { read, unread: unread as readonly string[] };
}
