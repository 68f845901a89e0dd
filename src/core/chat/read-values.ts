// Reads values that somebody else may have written. What cannot be used is replaced and noted, in
// sentences that quote no value.

import { isThroughlineError } from "../errors.ts";
import { checkJson, type Json, type JsonObject } from "../json.ts";
import { checkKey } from "../storage/key.ts";
import { type ProviderSession, periodLimits } from "./period.ts";
import { offsetMinutes } from "./reset-day.ts";
import { instantOf, isInstant } from "./stamp.ts";
import { usageLimits } from "./usage.ts";

export type Unread = Readonly<Record<string, unknown>>;

export const bucketKeys = [
  "session_id",
  "message_count",
  "total_cost_usd",
  "total_tokens",
] as const;

/** A bucket with its unknown keys; counters that are no finite numbers from 0 become 0. */
export function readBucket(bucket: Unread, generation: number, notes: string[]): ProviderSession {
  const known: readonly string[] = [...bucketKeys, "generation"];
  const extra = Object.entries(bucket).filter(([name]) => !known.includes(name));
  return {
    ...onlyJson(new Map(extra), "a bucket", notes),
    session_id: readText(own(bucket, "session_id"), "session_id", notes),
    message_count: readCount(own(bucket, "message_count"), "message_count", notes),
    total_cost_usd: readAmount(own(bucket, "total_cost_usd"), "total_cost_usd", notes),
    total_tokens: readCount(own(bucket, "total_tokens"), "total_tokens", notes),
    generation,
  };
}

/** The instant of an imported stamp; one without a zone is read in `zone`. */
export function readStamp(value: unknown, zone: string) {
  if (value === undefined || value === null || value === "") return "absent";
  if (typeof value !== "string") return "unreadable";
  const at = instantOf(value);
  if (at !== undefined) return { at, isZoneAssumed: false };
  const local = instantOf(`${/^[\d-]{10}$/.test(value) ? `${value}T00:00` : value}Z`);
  if (local === undefined) return "unreadable";
  // The offset before a change and the one after it differ: the second look takes the right one.
  const near = local - offsetMinutes(Math.floor(local / 60_000), zone) * 60_000;
  const instant = local - offsetMinutes(Math.floor(near / 60_000), zone) * 60_000;
  return isInstant(instant) ? { at: instant, isZoneAssumed: true } : "unreadable";
}

/** A name that the functions of `period.ts` accept. */
export function readName(value: unknown, fallback: string, name: string, notes: string[]): string {
  if (isUsable(() => checkKey(value, name, periodLimits.nameBytes))) return value as string;
  notes.push(`${name} is missing or cannot be used: "${fallback}" assumed`);
  return fallback;
}

function readText(value: unknown, name: string, notes: string[]): string {
  if (typeof value === "string") return value;
  if (value !== undefined && value !== null) notes.push(`${name} is not text: left empty`);
  return "";
}

function readCount(value: unknown, name: string, notes: string[]): number {
  const count = readAmount(value, name, notes, usageLimits.count);
  if (!Number.isInteger(count)) notes.push(`${name} is not whole: rounded down`);
  return Math.floor(count);
}

function readAmount(
  value: unknown,
  name: string,
  notes: string[],
  max: number = usageLimits.costUsd,
): number {
  if (value === undefined) return 0;
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
    notes.push(`${name} is not a finite number from 0: set to 0`);
    return 0;
  }
  if (value > max) notes.push(`${name} is larger than a total can be: set to the largest`);
  return Math.min(value, max) + 0;
}

/** Keeps the values that can be stored; a number past the range of a double cannot, for one. */
export function onlyJson(values: Map<string, unknown>, place: string, notes: string[]): JsonObject {
  const isStorable = ([, value]: readonly [string, unknown]) =>
    isUsable(() => checkJson(value, "the value"));
  const stored = [...values].filter(isStorable);
  if (stored.length < values.size) {
    notes.push(`${values.size - stored.length} keys of ${place} cannot be stored: left out`);
  }
  return Object.fromEntries(stored) as Record<string, Json>;
}

function isUsable(check: () => void): boolean {
  try {
    check();
    return true;
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    return false;
  }
}

export function own<T>(source: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(source, name) ? source[name] : undefined;
}
