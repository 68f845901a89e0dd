// A period as it was stored by us or by another program: what each field must be, and what else it becomes.
import { isThroughlineError } from "../errors.ts";
import { isJsonObject } from "../json.ts";
import {
  extensible,
  mended,
  notesOf,
  nullAsAbsent,
  Place,
  type Shape,
  text,
  whole,
} from "../shape.ts";
import { checkKey } from "../storage/key.ts";
import { type Period, periodLimits } from "./period.ts";
import { usageLimits } from "./usage.ts";

/** A name that the functions of `period.ts` accept. */
const name: Shape<string> = {
  read(value, at) {
    try {
      checkKey(value, "the name", periodLimits.nameBytes);
      return value;
    } catch (error) {
      if (!isThroughlineError(error)) throw error;
      at.says("is missing or cannot be used");
      return "";
    }
  },
  write: (value) => value,
};

/** The name of a provider or model, or this one instead. */
export const nameOr = (otherwise: string): Shape<string> => mended(name, otherwise);

/** A total from 0, which nothing adds to where it is absent; one that cannot be is put within bounds. */
function total(most: number, round = (value: number) => value): Shape<number> {
  const read = (value: unknown = 0, at: Place) => {
    const isNumber = typeof value === "number" && Number.isFinite(value) && value >= 0;
    const found = isNumber ? Math.min(round(value), most) + 0 : 0; // -0 is not JSON
    if (found !== value) at.says(`is not a total from 0 to ${most}: set to ${found}`);
    return found;
  };
  return { read, write: (value) => value };
}

const count = total(usageLimits.count, Math.floor);
const generation = mended(whole(1, Number.MAX_SAFE_INTEGER), 1);

const bucketFields = {
  session_id: nullAsAbsent(mended(text(undefined, ""), "")),
  message_count: count,
  total_cost_usd: total(usageLimits.costUsd),
  total_tokens: count,
};

const ownBucket = extensible({ ...bucketFields, generation });
/** Of another program, which counts no resets. */
export const foreignBucket = extensible(bucketFields);
export const bucketKeys = Object.keys(bucketFields);

/** Reads each bucket of a period, and leaves out what is none. */
const buckets: Shape<Period["provider_sessions"]> = {
  read(value, at) {
    if (!isJsonObject(value)) {
      at.says("is not an object: left empty");
      return {};
    }
    const all = Object.entries(value);
    const found = all.filter(([, each]) => isJsonObject(each));
    for (let left = all.length - found.length; left > 0; left--) {
      at.says("has a bucket that is not an object: left out");
    }
    return Object.fromEntries(found.map(([key, each]) => [key, ownBucket.read(each, at)]));
  },
  write: (value) => value,
};

/** Set, or absent whatever else it is. */
const marker: Shape<true | undefined> = {
  read: (value) => (value === true ? value : undefined),
  write: (value) => value,
};

const stamp = mended(text(64), "unreadable");

/**
 * Reads a period: every field checked and put right, unknown keys kept. Stamps are left to the freshness
 * rules.
 *
 * @param lastSeq the end of the chat's log: a period that begins after it would hide all history.
 * @param target what a missing provider or model becomes.
 * @returns with what was put right, for a report; `undefined` for what is no object.
 */
export function readPeriod(
  value: unknown,
  lastSeq: number,
  target: { readonly provider: string; readonly model: string },
): { readonly period: Period; readonly notes: readonly string[] } | undefined {
  if (!isJsonObject(value)) return undefined;
  const model = nameOr(target.model);
  const shape = extensible({
    generation,
    started_at: stamp,
    start_seq: mended(whole(0, lastSeq), 0),
    human_at: stamp,
    human_at_assumed: marker,
    tz_assumed: marker,
    provider: nameOr(target.provider),
    model: { ...model, read: (given, at) => (given === "" ? "" : model.read(given, at)) },
    provider_sessions: buckets,
  });
  const at = new Place();
  return { period: shape.read(value, at) as Period, notes: notesOf(at) };
}
