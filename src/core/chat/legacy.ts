import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { assumptions, openBuckets, type Period, type ProviderSession } from "./period.ts";
import {
  bucketKeys,
  onlyJson,
  own,
  readBucket,
  readName,
  readStamp,
  type Unread,
} from "./read-values.ts";
import { instantOf, stampOf } from "./stamp.ts";

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

const original = { provider: "claude", model: "opus" } as const;
const entryKeys = ["provider", "model", "created_at", "last_active", "provider_sessions"] as const;
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
  const notes: string[] = [];
  if (!isJsonObject(entry)) {
    return { chatId, unknown: {}, notes: ["the entry is not an object: nothing was read"] };
  }
  const source: Unread = entry;
  const kept = new Map<string, unknown>();
  const provider = readName(own(source, "provider"), original.provider, "provider", notes);
  const buckets = readBuckets(source, provider, kept, notes);
  for (const [name, value] of Object.entries(source)) {
    const isFlat = bucketKeys.some((known) => known === name);
    const isKnown = isFlat ? buckets.isMigrated : entryKeys.some((known) => known === name);
    const isOwnId = name === "chat_id" && value === ductorId(chatId);
    if (!isKnown && !isOwnId) kept.set(name, value);
  }
  const state: Period = {
    generation: 1,
    start_seq: 0,
    ...readStamps(source, now, zone, kept, notes),
    provider,
    model: readName(own(source, "model"), original.model, "model", notes),
    provider_sessions: buckets.sessions,
  };
  return { chatId, state, unknown: onlyJson(kept, "the entry", notes), notes };
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

/**
 * The buckets. The flat fields of older files become the bucket of the current provider when there
 * is no real bucket.
 */
function readBuckets(
  source: Unread,
  provider: string,
  kept: Map<string, unknown>,
  notes: string[],
) {
  const given = own(source, "provider_sessions");
  const found = isJsonObject(given) ? Object.entries(given) : [];
  const skipped: [string, unknown][] = [];
  const sessions: [string, ProviderSession][] = [];
  for (const [name, bucket] of found) {
    if (!isJsonObject(bucket)) {
      skipped.push([name, bucket]);
      continue;
    }
    sessions.push([name, readBucket(bucket, 1, notes)]);
    if (Object.hasOwn(bucket, "generation")) notes.push("a bucket's generation is left out");
  }
  if (skipped.length > 0) {
    kept.set("provider_sessions", onlyJson(new Map(skipped), "provider_sessions", notes));
    notes.push(`${skipped.length} of ${found.length} provider_sessions are not objects: skipped`);
  } else if (!isJsonObject(given) && given !== undefined && given !== null) {
    kept.set("provider_sessions", given);
    notes.push("provider_sessions is not an object: skipped");
  }
  const isMigrated = sessions.length === 0;
  const flat = Object.fromEntries(bucketKeys.map((name) => [name, own(source, name)]));
  if (isMigrated && Object.values(flat).some((value) => value !== undefined)) {
    sessions.push([provider, readBucket(flat, 1, notes)]);
    notes.push("the flat fields of an older version became the bucket of the current provider");
  }
  return { isMigrated, sessions: Object.fromEntries(sessions) };
}

function readStamps(
  source: Unread,
  now: number,
  zone: string,
  kept: Map<string, unknown>,
  notes: string[],
) {
  const human = readStamp(own(source, "last_active"), zone);
  const start = readStamp(own(source, "created_at"), zone);
  const read = [["last_active", human] as const, ["created_at", start] as const];
  for (const [name, stamp] of read) {
    if (stamp === "unreadable") kept.set(name, own(source, name));
    if (stamp === "absent") notes.push(`${name} is missing: assumed`);
    else if (stamp === "unreadable") notes.push(`${name} is no date`);
    else if (stamp.isZoneAssumed) notes.push(`${name} has no zone: read in ${zone}`);
  }
  const humanAt = typeof human === "object" ? human.at : now;
  // Without a start of its own a period began, at the latest, when a person last acted.
  const startedAt = typeof start === "object" ? start.at : humanAt;
  const isZoneAssumed = read.some(([, stamp]) => typeof stamp === "object" && stamp.isZoneAssumed);
  return {
    started_at: stampOf(startedAt),
    human_at: human === "unreadable" ? unreadable : stampOf(humanAt),
    ...assumptions(human === "absent", isZoneAssumed),
  };
}
