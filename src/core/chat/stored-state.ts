import { isJsonObject } from "../json.ts";
import { assumptions, type Period, type ProviderSession } from "./period.ts";
import { onlyJson, own, readBucket, readName, type Unread } from "./read-values.ts";

const keys = [
  "generation",
  "started_at",
  "start_seq",
  "human_at",
  "human_at_assumed",
  "tz_assumed",
  "provider",
  "model",
  "provider_sessions",
];

interface StoredState {
  readonly state: Period;
  /** What was put right, for the report; empty for a state as we write it. */
  readonly notes: readonly string[];
}

/**
 * A state as it was read back: every field checked and put right, unknown keys kept. Stamps are
 * left to the freshness rules.
 *
 * @param lastSeq the end of the chat's log: a period that begins after it would hide all history.
 * @param target what a missing provider or model becomes.
 * @returns `undefined` for what is no object.
 */
export function readState(
  value: unknown,
  lastSeq: number,
  target: { readonly provider: string; readonly model: string },
): StoredState | undefined {
  if (!isJsonObject(value)) return undefined;
  const stored: Unread = value;
  const notes: string[] = [];
  const extra = Object.entries(stored).filter(([name]) => !keys.includes(name));
  const model = own(stored, "model");
  const state: Period = {
    ...onlyJson(new Map(extra), "the session", notes),
    generation: readWhole(stored, "generation", 1, Number.MAX_SAFE_INTEGER, notes),
    started_at: readStampText(stored, "started_at", notes),
    start_seq: readWhole(stored, "start_seq", 0, lastSeq, notes),
    human_at: readStampText(stored, "human_at", notes),
    ...assumptions(own(stored, "human_at_assumed") === true, own(stored, "tz_assumed") === true),
    provider: readName(own(stored, "provider"), target.provider, "provider", notes),
    model: model === "" ? "" : readName(model, target.model, "model", notes),
    provider_sessions: readBuckets(own(stored, "provider_sessions"), notes),
  };
  return { state, notes };
}

function readBuckets(value: unknown, notes: string[]): Readonly<Record<string, ProviderSession>> {
  if (!isJsonObject(value)) {
    notes.push("provider_sessions is not an object: left empty");
    return {};
  }
  const buckets: [string, ProviderSession][] = [];
  for (const [name, bucket] of Object.entries(value)) {
    if (!isJsonObject(bucket)) {
      notes.push("a bucket is not an object: left out");
      continue;
    }
    const generation = readWhole(bucket, "generation", 1, Number.MAX_SAFE_INTEGER, notes);
    buckets.push([name, readBucket(bucket, generation, notes)]);
  }
  return Object.fromEntries(buckets);
}

/** A whole number from `min` to `max`; anything else becomes `min`. */
function readWhole(
  source: Unread,
  name: string,
  min: number,
  max: number,
  notes: string[],
): number {
  const value = own(source, name);
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) {
    return value + 0; // -0 is not JSON
  }
  notes.push(`${name} is not a whole number from ${min} to ${max}: set to ${min}`);
  return min;
}

function readStampText(source: Unread, name: string, notes: string[]): string {
  const value = own(source, name);
  if (typeof value === "string" && value.length <= 64) return value;
  notes.push(`${name} is no stamp`);
  return "unreadable";
}
