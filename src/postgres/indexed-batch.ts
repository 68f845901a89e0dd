import { isJsonObject } from "../core/json.ts";
import { type PreparedBatch, prepareBatch } from "../core/storage/batch.ts";
import {
  type AppendOptions,
  type LogHead,
  type LogProjection,
  type LogRecord,
  logLimits,
  type StoredRecord,
} from "../core/storage/log-store.ts";
import { lexemesOf, placesOf } from "./words.ts";

/** A record as it is stored, with what the indexes keep of it. */
export interface IndexedRecord {
  readonly id: string;
  readonly json: string;
  /** The id of an earlier record that it hides. */
  readonly hides: string | null;
  /** Its lexemes, unless search must not find it. */
  readonly words: string | null;
}

/** What a log's row keeps of its head. */
export interface IndexedHead {
  readonly json: string;
  readonly sortedAt: string;
  readonly labels: readonly string[];
}

export interface IndexedBatch extends Omit<PreparedBatch, "records" | "headJson"> {
  readonly records: readonly IndexedRecord[];
  /** That of a new log, too, when none was given. */
  readonly head: IndexedHead;
  readonly replacesHead: boolean;
}

/** An index entry of the database has at most 2,704 bytes, and other columns stand beside this one. */
const longestSortedAt = 64;

/** How one collection reads its records, and where it is. */
export interface Indexing {
  readonly projection: LogProjection;
  /** Names the collection in the full-text index. */
  readonly scope: string;
}

/** Checks an append as every driver does, and works out everything that is stored of it. */
export function indexBatch(
  indexing: Indexing,
  key: string,
  records: readonly LogRecord[],
  options: AppendOptions | undefined,
): IndexedBatch {
  const { headJson, ...batch } = prepareBatch(key, records, options);
  const { projection } = indexing;
  const places = placesOf(indexing.scope, key);
  const indexed: IndexedRecord[] = [];
  const hidden = new Set<string | null>();
  // From the last to the first: one that a later record hides has no words.
  for (let i = batch.records.length - 1; i >= 0; i--) {
    const [prepared, given] = [batch.records[i], records[i]];
    if (prepared === undefined || given === undefined) continue;
    const record: StoredRecord = { ...given, seq: (batch.expectedSeq ?? 0) + i + 1 };
    const words = hidden.has(prepared.id) ? null : wordsOf(projection, places, record);
    const hides = idOrNull(projection.hides(record));
    hidden.add(hides);
    indexed.push({ ...prepared, hides, words });
  }
  indexed.reverse();
  return {
    ...batch,
    records: indexed,
    head: indexHead(projection, headJson ?? "{}", options?.head ?? {}),
    replacesHead: headJson !== undefined,
  };
}

/** What a log's row keeps of this text of a head; `head` is what it was written from. */
export function indexHead(projection: LogProjection, json: string, head?: LogHead): IndexedHead {
  const value = head ?? parsedHead(json);
  const sortedAt = projection.sortedAt(value).replaceAll("\0", "").toWellFormed();
  const labels = [...new Set(projection.labels(value).map(labelText))].sort();
  return { json, sortedAt: sortedAt.slice(0, longestSortedAt).toWellFormed(), labels };
}

function parsedHead(json: string): LogHead {
  const head: unknown = JSON.parse(json);
  return isJsonObject(head) ? head : {};
}

/** The form in which a label is stored and asked for: the database takes neither NUL nor half a pair. */
export function labelText(label: string): string {
  return JSON.stringify(label).slice(1, -1);
}

/** The lexemes of a record of the log with these places. */
export function wordsOf(
  projection: LogProjection,
  places: string,
  record: StoredRecord,
): string | null {
  const text = projection.text(record);
  return text === undefined ? null : lexemesOf(text, places);
}

/** What can be no id of a record hides none. */
function idOrNull(id: string | undefined): string | null {
  if (id === undefined || id === "" || id.includes("\0") || !id.isWellFormed()) return null;
  return Buffer.byteLength(id) > logLimits.idBytes ? null : id;
}
