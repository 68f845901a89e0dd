import { isDeepStrictEqual } from "node:util";
import { conflict, idConflict, invalid } from "../errors.ts";
import { checkJson, isJsonObject, type JsonObject, tooLarge } from "../json.ts";
import { documentLimits, reservedDocumentNames, type WriteOptions } from "./document-store.ts";
import { checkCount, checkKey, isLongerThan } from "./key.ts";
import {
  type AppendOptions,
  type EraseOptions,
  erasedKind,
  type ListOptions,
  type LogHead,
  type LogRecord,
  logLimits,
  type PageOptions,
  type PreparedAppend,
  reservedHeadNames,
  type SearchOptions,
  type StoredRecord,
} from "./log-store.ts";

/** The most records, rows or hits that one call answers. */
const maxRows = 1_000;

/** A record that was checked and serialised; nothing that the caller does changes it any more. */
export interface PreparedRecord {
  readonly id: string;
  /** The JSON text of the record as it was given: with its id, without `seq`. */
  readonly json: string;
}

/** An append that may be stored as it is. */
export interface PreparedBatch {
  readonly key: string;
  /** At least one, ids all different. */
  readonly records: readonly PreparedRecord[];
  readonly headJson: string | undefined;
  readonly expectedSeq: number | undefined;
  readonly hasNewIds: boolean;
}

/** A write of a document that may be stored as it is. */
export interface PreparedDocument {
  readonly key: string;
  readonly json: string;
  readonly expectedRevision: number | undefined;
}

/** Most characters of JSON, and most records, of one append of many: well within `logLimits`. */
const groupLimits = { units: 1024 * 1024, records: 500 } as const;

/** Cuts a list into groups that each fit into one append and are quick to repeat. */
export function appendGroups<T>(all: readonly T[], recordOf: (each: T) => LogRecord): T[][] {
  const groups: T[][] = [];
  let units = Number.POSITIVE_INFINITY;
  for (const each of all) {
    const size = JSON.stringify(recordOf(each)).length;
    if (units + size > groupLimits.units || groups.at(-1)?.length === groupLimits.records) {
      groups.push([]);
      units = 0;
    }
    units += size;
    groups.at(-1)?.push(each);
  }
  return groups;
}

/** Most characters of JSON, and most records, of one append of a copy: a copy that was cut off repeats little. */
const batchLimits = { units: 2 * 1024 * 1024, records: 256 } as const;

/**
 * Cuts records that are read one after the other into lists that each fit into one append. The last list comes once
 * it is known to be the last: what `records` throws at its end comes before it.
 */
export async function* batchesOf(
  records: AsyncIterable<LogRecord>,
): AsyncGenerator<{ readonly records: readonly LogRecord[]; readonly isLast: boolean }> {
  let batch: LogRecord[] = [];
  let units = 0;
  for await (const record of records) {
    if (batch.length === batchLimits.records || units > batchLimits.units) {
      yield { records: batch, isLast: false };
      batch = [];
      units = 0;
    }
    batch.push(record);
    units += JSON.stringify(record).length;
  }
  if (batch.length > 0) yield { records: batch, isLast: true };
}

/**
 * Checks everything that `append` promises to refuse, and serialises each record once.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: not an array of plain JSON objects, none at all, a
 * bad key or id, one id twice, a `seq`, a head that is no object, a bad `expectedSeq`.
 * @throws ThroughlineError `THROUGHLINE_TOO_LARGE`: past `logLimits` or `jsonLimits`.
 */
export function prepareBatch(
  key: string,
  records: readonly LogRecord[],
  options: AppendOptions = {},
): PreparedBatch {
  checkKey(key, "key", logLimits.keyBytes);
  if (!Array.isArray(records) || records.length === 0) {
    throw invalid("records must be an array that is not empty");
  }
  if (records.length > logLimits.batchRecords) {
    throw tooLarge(`a batch has at most ${logLimits.batchRecords} records`);
  }
  const { expectedSeq, head, hasNewIds = false } = options;
  if (expectedSeq !== undefined) checkPosition(expectedSeq, "expectedSeq");
  const prepared = prepareRecords(records);
  const headJson = head === undefined ? undefined : prepareHead(head);
  return { key, records: prepared, headJson, expectedSeq, hasNewIds };
}

/**
 * Serialises records that were checked one by one, and checks what is left: that ids are given once, and
 * the bounds.
 *
 * @param ids those that were not made up for this append, and those that the log was found not to hold.
 * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`.
 */
export function prepareAppend(
  records: readonly StoredRecord[],
  ids: { readonly givenIds: readonly string[]; readonly newIds: ReadonlySet<string> },
  head: LogHead,
): PreparedAppend {
  const { givenIds, newIds } = ids;
  if (records.length > logLimits.batchRecords) {
    throw tooLarge(`a batch has at most ${logLimits.batchRecords} records`);
  }
  if (givenIds.length > 1 && new Set(givenIds).size < givenIds.length) {
    throw invalid("a record's id is also the id of an earlier record of this batch");
  }
  let lines = "";
  for (const record of records) {
    const line = lineOf(record);
    if (isLongerThan(line, logLimits.recordBytes + `,"seq":${record.seq}`.length)) {
      throw tooLarge(`a record is longer than ${logLimits.recordBytes} bytes`);
    }
    lines += `${line}\n`;
  }
  if (isLongerThan(lines, logLimits.batchBytes)) {
    throw tooLarge(`a batch has at most ${logLimits.batchBytes} bytes`);
  }
  const headJson = JSON.stringify(head);
  if (isLongerThan(headJson, logLimits.headBytes)) {
    throw tooLarge(`head is longer than ${logLimits.headBytes} bytes`);
  }
  const unsought = givenIds.filter((id) => !newIds.has(id));
  return { records, lines, givenIds: unsought, head, headJson };
}

function lineOf(record: StoredRecord): string {
  const json = JSON.stringify(record);
  if (json.startsWith('{"id":')) return json;
  const { seq, ...rest } = record; // a name that is a number comes first
  return storedLine(JSON.stringify(rest), seq);
}

/**
 * Checks a head, and serialises it.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID` (not an object, a reserved name), `THROUGHLINE_TOO_LARGE`.
 */
export function prepareHead(head: LogHead): string {
  const json = prepareValue(head, "head", logLimits.headBytes);
  checkReserved(head, reservedHeadNames, "head");
  return json;
}

function checkReserved(value: JsonObject, reserved: readonly string[], name: string): void {
  const own = reserved.find((each) => Object.hasOwn(value, each));
  if (own !== undefined) throw invalid(`${name}.${own} is a name that the store uses`);
}

function prepareRecords(records: readonly LogRecord[]): readonly PreparedRecord[] {
  const ids = new Set<string>();
  let bytes = 0;
  return records.map((record: unknown, index) => {
    const name = `records[${index}]`;
    if (!isJsonObject(record)) throw invalid(`${name} must be an object`);
    if (Object.hasOwn(record, "seq")) throw invalid(`${name}.seq is given by the store`);
    const id = record["id"];
    checkId(id, `${name}.id`);
    if (ids.has(id)) throw invalid(`${name}.id is also the id of an earlier record of this batch`);
    ids.add(id);
    const json = prepareValue(record, name, logLimits.recordBytes);
    bytes += Buffer.byteLength(json);
    if (bytes > logLimits.batchBytes) {
      throw tooLarge(`a batch has at most ${logLimits.batchBytes} bytes`);
    }
    return { id, json };
  });
}

/**
 * Checks everything that `write` promises to refuse, and serialises the value once, with so many
 * spaces for each level where `indent` says so.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`: past `documentLimits`.
 */
export function prepareDocument(
  key: string,
  value: JsonObject,
  options: WriteOptions = {},
  indent?: number,
): PreparedDocument {
  checkKey(key, "key", documentLimits.keyBytes);
  const { expectedRevision } = options;
  if (expectedRevision !== undefined) checkPosition(expectedRevision, "expectedRevision");
  const json = prepareValue(value, "value", documentLimits.valueBytes, indent);
  checkReserved(value, reservedDocumentNames, "value");
  return { key, json, expectedRevision };
}

function prepareValue(value: unknown, name: string, maxBytes: number, indent?: number): string {
  if (!isJsonObject(value)) throw invalid(`${name} must be an object`);
  checkJson(value, name);
  const json = JSON.stringify(value, undefined, indent);
  // Spaces between its parts do not count.
  const isTooLong = isLongerThan(json, maxBytes) && isLongerThan(JSON.stringify(value), maxBytes);
  if (isTooLong) {
    throw tooLarge(`${name} is longer than ${maxBytes} bytes`);
  }
  return json;
}

/**
 * Checks a record's id: 1 to 256 bytes of well-formed Unicode without NUL.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`, also for an id that is too long.
 */
export function checkId(id: unknown, name: string): asserts id is string {
  if (typeof id === "string" && isLongerThan(id, logLimits.idBytes)) {
    throw invalid(`${name} is longer than ${logLimits.idBytes} bytes`);
  }
  checkKey(id, name, logLimits.idBytes);
}

/** Checks a `seq` or revision: a whole number from 0. */
function checkPosition(value: unknown, name: string): void {
  checkCount(value, name, 0, Number.MAX_SAFE_INTEGER);
}

/** Checks the arguments of `tail`. */
export function checkTail(key: string, limit: number): void {
  checkKey(key, "key", logLimits.keyBytes);
  checkCount(limit, "limit", 0, maxRows);
}

/** Checks the arguments of `page`. */
export function checkPage(key: string, options: PageOptions): void {
  checkKey(key, "key", logLimits.keyBytes);
  const { before, after, limit } = options;
  checkCount(limit, "limit", 1, maxRows);
  if (before !== undefined && after !== undefined) {
    throw invalid("a page is before a seq or after one, not both");
  }
  if (before !== undefined) checkPosition(before, "before");
  if (after !== undefined) checkPosition(after, "after");
}

/** Checks the arguments of `read`. */
export function checkRead(key: string, after: number): void {
  checkKey(key, "key", logLimits.keyBytes);
  checkPosition(after, "after");
}

/** Checks the ids that `find` and `erase` are given. */
export function checkIds(key: string, ids: readonly string[]): void {
  checkKey(key, "key", logLimits.keyBytes);
  if (!Array.isArray(ids)) throw invalid("ids must be an array");
  for (const [index, id] of ids.entries()) checkId(id, `ids[${index}]`);
}

/**
 * Checks everything that `erase` promises to refuse.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: ids that are none, a bad key, head or `expectedSeq`.
 * @throws ThroughlineError `THROUGHLINE_TOO_LARGE`: the head.
 */
export function prepareErasure(
  key: string,
  ids: readonly string[],
  { expectedSeq, head }: EraseOptions = {},
) {
  checkIds(key, ids);
  if (expectedSeq !== undefined) checkPosition(expectedSeq, "expectedSeq");
  const headJson = head === undefined ? undefined : prepareHead(head);
  return { ids: [...new Set(ids)], headJson, expectedSeq };
}

/** Checks the options of `list`, but for the cursor: that is `parseCursor`'s. */
export function checkList(options: ListOptions): void {
  checkCount(options.limit, "limit", 1, maxRows);
  if (options.label !== undefined && typeof options.label !== "string") {
    throw invalid("label must be a string");
  }
}

/** Checks the arguments of `search`. */
export function checkSearch(query: string, options: SearchOptions): void {
  if (typeof query !== "string") throw invalid("query must be a string");
  checkCount(options.limit, "limit", 1, maxRows);
  if (options.key !== undefined) checkKey(options.key, "key", logLimits.keyBytes);
  const { prefix = false } = options;
  if (typeof prefix !== "boolean") throw invalid("prefix must be true or false");
}

/** A place in a list: just after the row with this instant and key. */
export interface ListPlace {
  readonly sortedAt: string;
  readonly key: string;
}

/** The cursor that stands for a place in a list. */
export function listCursor({ sortedAt, key }: ListPlace): string {
  return Buffer.from(JSON.stringify([sortedAt, key])).toString("base64url");
}

/** Compares places in lists: newest first; equal instants by key. By bytes of UTF-8, as SQLite does. */
export function comparePlaces(a: ListPlace, b: ListPlace): number {
  return compareBytes(b.sortedAt, a.sortedAt) || compareBytes(a.key, b.key);
}

/** Compares texts as their UTF-8 would be. */
function compareBytes(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  for (let i = 0; i < most; i++) {
    if (a.charCodeAt(i) !== b.charCodeAt(i)) return rank(a.charCodeAt(i)) - rank(b.charCodeAt(i));
  }
  return a.length - b.length;
}

/** Ranks a UTF-16 unit: those of characters beyond U+FFFF come after all others. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/**
 * The place that a cursor stands for.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: `listCursor` did not make it.
 */
export function parseCursor(cursor: string): ListPlace {
  if (typeof cursor === "string") {
    const place = parsePlace(Buffer.from(cursor, "base64url").toString());
    // Decoding passes over what it does not know: only what encodes back is a cursor.
    if (place !== undefined && listCursor(place) === cursor) return place;
  }
  throw invalid("cursor was not answered by a list");
}

function parsePlace(text: string): ListPlace | undefined {
  let place: unknown;
  try {
    place = JSON.parse(text);
  } catch {
    return undefined; // the caller says that it is no cursor
  }
  if (!Array.isArray(place)) return undefined;
  const [sortedAt, key]: readonly unknown[] = place;
  return typeof sortedAt === "string" && typeof key === "string" ? { sortedAt, key } : undefined;
}

/**
 * The line that a record is stored as: its JSON text with `id` first and `seq` right after it, the
 * rest in the order in which it was given.
 */
export function storedLine(json: string, seq: number): string {
  const idEnd = endOfLeadingId(json);
  if (idEnd > 0) return `${json.slice(0, idEnd)},"seq":${seq}${json.slice(idEnd)}`;
  // Something stands before the id, so there is something to stand after it.
  const { id, ...others } = JSON.parse(json) as LogRecord;
  return `{"id":${JSON.stringify(id)},"seq":${seq},${JSON.stringify(others).slice(1)}`;
}

/** Where the value of `id` ends in JSON text that begins with it; 0 if it begins otherwise. */
function endOfLeadingId(json: string): number {
  const start = '{"id":"';
  if (!json.startsWith(start)) return 0;
  let at = start.length;
  while (json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return at + 1;
}

/** A stored record as it is read: a fresh copy every time, so that no reader can change another's. */
export function storedRecord(json: string, seq: number): StoredRecord {
  return JSON.parse(storedLine(json, seq)) as StoredRecord;
}

/** @throws ThroughlineError `THROUGHLINE_CONFLICT`: the log does not end where it is expected to. */
export function checkEnd(seq: number, expectedSeq: number | undefined): void {
  if (expectedSeq === undefined || expectedSeq === seq) return;
  throw conflict(`the log ends at seq ${seq}`);
}

/**
 * Checks that a record that is given again is the stored one. Its id stays used when its content was erased.
 *
 * @throws ThroughlineError `THROUGHLINE_ID_CONFLICT`: it has other content.
 */
export function checkSame(stored: StoredRecord, { json }: PreparedRecord): void {
  const { seq, ...content } = stored;
  if (isErased(stored) || sameRecord(JSON.stringify(content), json)) return;
  throw idConflict(`record ${seq} has this id and other content`);
}

/** Whether two JSON texts hold the same value. The order of keys does not matter. */
export function sameRecord(jsonA: string, jsonB: string): boolean {
  return jsonA === jsonB || isDeepStrictEqual(JSON.parse(jsonA), JSON.parse(jsonB));
}

/** What is left of a record whose content was erased, without its `seq`. */
export function erasedJson(id: string): string {
  return JSON.stringify({ id, _type: "metadata", kind: erasedKind });
}

/**
 * Whether a record was erased: it holds what `erase` leaves and nothing else, so that a record which
 * only says so, beside content of its own, is not taken for one. With or without `seq`.
 */
export function isErased(record: JsonObject): boolean {
  if (record["_type"] !== "metadata" || record["kind"] !== erasedKind) return false;
  return Object.keys(record).every((key) => ["id", "seq", "_type", "kind"].includes(key));
}
