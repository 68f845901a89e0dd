import { isErased } from "../../core/storage/batch.ts";
import type { LogStore, StoredRecord } from "../../core/storage/log-store.ts";
import { type LogName, type OnDamage, records } from "./records.ts";

interface Comparison {
  /** The target's log holds the same, an earlier part of it, more than it, or something else. */
  readonly relation: "same" | "behind" | "ahead" | "other";
  /** Ids of records that were erased at the source after they had been copied. */
  readonly erased: readonly string[];
}

/** A log in two storages. */
export interface LogPair {
  readonly name: LogName;
  readonly source: LogStore;
  readonly target: LogStore;
}

/** Reads both sides of one log in step, as far as the shorter one goes. */
export async function compareLogs(
  { name, source, target }: LogPair,
  damaged: OnDamage,
): Promise<Comparison> {
  const until = (await source.tail(name.key, 0))?.seq ?? 0;
  const theirs = records(source, name, { until, damaged });
  const ours = target.read(name.key)[Symbol.asyncIterator]();
  const erased: string[] = [];
  try {
    for (;;) {
      const own = await ours.next();
      const given = await theirs.next();
      if (own.done) return { relation: given.done ? "same" : "behind", erased };
      if (given.done) return { relation: "ahead", erased };
      const difference = differenceOf(given.value, own.value);
      if (difference === "other") return { relation: "other", erased };
      if (difference === "erased") erased.push(own.value.id);
    }
  } finally {
    await ours.return?.();
    await theirs.return(undefined);
  }
}

function differenceOf(given: StoredRecord, own: StoredRecord): "none" | "erased" | "other" {
  if (JSON.stringify(given) === JSON.stringify(own)) return "none";
  if (given.id !== own.id || given.seq !== own.seq) return "other";
  return isErased(given) ? "erased" : "other";
}
