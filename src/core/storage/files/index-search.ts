import { setImmediate as nextPass } from "node:timers/promises";
import type { ListPlace } from "../batch.ts";
import type { LogHead, SearchOptions } from "../log-store.ts";
import { endsOpen, holdsEvery, queryPhrases, searchTokens } from "../search-words.ts";
import { recordsOf } from "./batch-reader.ts";
import { type CollectionIndex, comparePlaces } from "./collection-index.ts";
import { headOf } from "./commit.ts";
import { idToken } from "./index-schema.ts";
import type { IndexedBatch } from "./index-writer.ts";

/** How many logs are searched one by one first. Each costs some 20 µs. */
const newestLogs = 16;
/** Bytes of the journal that are looked through before others have their turn. */
const lookedThrough = 256 * 1024;

/** A record that search found: which log, and which number. The store reads the record itself. */
export interface IndexHit {
  readonly key: string;
  readonly seq: number;
}

/** What a search asks for. */
interface Wanted {
  /** As the full-text index has it. */
  readonly match: string;
  readonly phrases: readonly string[][];
  readonly isOpen: boolean;
}

/** What the journal holds of a log that the file of the index may lack. */
interface LookedThrough {
  place: ListPlace;
  readonly found: Set<number>;
  readonly ids: Map<string, number>;
  /** Numbers of records that search no longer finds. */
  readonly hidden: Set<number>;
}

/** Searches what the file of the index has, and what it lacks in the journal. */
export async function searchIndex(
  part: CollectionIndex,
  query: string,
  { limit, key, prefix }: SearchOptions,
): Promise<readonly IndexHit[]> {
  const phrases = queryPhrases(query);
  if (phrases.length === 0) return [];
  const isOpen = endsOpen(query, prefix);
  // Only tokens get in here, which hold no quote: nothing that a person wrote is syntax.
  const words = phrases.map((tokens) => `"${tokens.join(" ")}"`).join(" AND ");
  const wanted = { match: isOpen ? `${words} *` : words, phrases, isOpen };
  const looked = await lookThrough(part, wanted).catch((error: unknown) =>
    part.file.file.run<never>(() => {
      throw error; // as what fails in there
    }),
  );
  return part.file.file.run(() => {
    if (key !== undefined) return searchLog(part, wanted, key, limit, looked.get(key));
    return searchNewest(part, wanted, limit, looked) ?? searchAll(part, wanted, limit, looked);
  });
}

/** Looks through the journal from where the index ends to the moment of this call. */
async function lookThrough(
  part: CollectionIndex,
  wanted: Wanted,
): Promise<Map<string, LookedThrough>> {
  const logs = new Map<string, LookedThrough>();
  const { durable } = part.file;
  const journal = part.file.journal();
  try {
    // What the index took up on the way need not be read, and may be there no longer.
    for (let at = part.file.mark; at < durable; ) {
      const last = new Map<string, IndexedBatch>();
      let next = durable;
      for (const { collection, batch, after } of journal.frames(at, durable, lookedThrough)) {
        next = after;
        if (collection !== part.collection || batch === undefined) continue;
        const { key } = headOf(batch.line);
        last.set(key, batch);
        lookAt(part, logs, key, batch, wanted);
      }
      for (const [key, batch] of last) placeAt(part, logs, key, batch);
      if (next < durable) await nextPass();
      at = Math.max(next, part.file.mark);
    }
  } finally {
    journal.closeFiles();
  }
  return logs;
}

/** Has a log stand in the order of lists where its last batch puts it. */
function placeAt(
  { projection }: CollectionIndex,
  logs: Map<string, LookedThrough>,
  key: string,
  { line }: IndexedBatch,
): void {
  const head = JSON.parse(headOf(line).headJson) as LogHead;
  const log = logs.get(key);
  if (log !== undefined) log.place = { sortedAt: projection.sortedAt(head).toWellFormed(), key };
}

function lookAt(
  part: CollectionIndex,
  logs: Map<string, LookedThrough>,
  key: string,
  batch: IndexedBatch,
  wanted: Wanted,
): void {
  const log = logs.get(key) ?? {
    place: { sortedAt: "", key },
    found: new Set(),
    ids: new Map(),
    hidden: new Set(),
  };
  logs.set(key, log);
  for (const record of recordsOf(batch)) {
    const { id, seq } = record;
    const text = part.projection.text(record);
    if (text !== undefined && mayHold(text, wanted.phrases)) {
      if (holdsEvery(searchTokens(text), wanted.phrases, wanted.isOpen)) log.found.add(seq);
    }
    const hides = part.projection.hides(record);
    // An id may be stored again: a record hides the newest one before it.
    const hidden =
      hides === undefined ? undefined : (log.ids.get(hides) ?? hiddenIn(part, key, hides));
    if (hidden !== undefined && hidden < seq) log.hidden.add(hidden);
    log.ids.set(id, seq);
  }
}

function hiddenIn(part: CollectionIndex, key: string, id: string): number | undefined {
  return part.file.file.run(() => {
    const log = part.rowId(key);
    return log === undefined ? undefined : part.numbers(log, `"${idToken(id)}"`, 1)[0];
  });
}

/** Newest first. */
function searchLog(
  part: CollectionIndex,
  wanted: Wanted,
  key: string,
  limit: number,
  looked: LookedThrough | undefined,
): readonly IndexHit[] {
  const log = part.rowId(key);
  const seqs = new Set(looked?.found);
  const hidden = looked?.hidden ?? new Set();
  if (log !== undefined) {
    for (const seq of part.numbers(log, wanted.match, limit + hidden.size)) seqs.add(seq);
  }
  return [...seqs]
    .filter((seq) => !hidden.has(seq))
    .sort((a, b) => b - a)
    .slice(0, limit)
    .map((seq) => ({ key, seq }));
}

/**
 * The answer if the newest logs have it all. A common word is in nearly every log, and sorting all
 * that hold it would take as long as there are messages.
 */
function searchNewest(
  part: CollectionIndex,
  wanted: Wanted,
  limit: number,
  looked: ReadonlyMap<string, LookedThrough>,
) {
  const hits: IndexHit[] = [];
  const newest = { after: undefined, label: undefined, count: newestLogs };
  for (const { place } of part.placedRows(newest)) {
    hits.push(...searchLog(part, wanted, place.key, limit - hits.length, looked.get(place.key)));
    if (hits.length === limit) return hits;
  }
  return undefined;
}

function searchAll(
  part: CollectionIndex,
  wanted: Wanted,
  limit: number,
  looked: ReadonlyMap<string, LookedThrough>,
): readonly IndexHit[] {
  const { sql } = part.file;
  const inFile: IndexHit[] = [];
  for (const row of sql.searchAll.iterate(wanted.match, part.collection)) {
    const key = String(row["key"]);
    // Where the log stands in the order is out of date.
    if (looked.has(key) || part.isRemoved(key)) continue;
    inFile.push({ key, seq: Number(row["seq"]) });
    if (inFile.length === limit) break;
  }
  const changed: IndexHit[] = [];
  for (const [key, log] of looked) changed.push(...searchLog(part, wanted, key, limit, log));
  if (changed.length === 0) return inFile;
  const places = new Map(Array.from(looked, ([key, { place }]) => [key, place]));
  const placeOf = (key: string): ListPlace => {
    const known = places.get(key);
    if (known !== undefined) return known;
    const place = { sortedAt: String(sql.logOf.get(part.collection, key)?.["sorted_at"]), key };
    places.set(key, place);
    return place;
  };
  return [...inFile, ...changed]
    .sort((a, b) => comparePlaces(placeOf(a.key), placeOf(b.key)) || b.seq - a.seq)
    .slice(0, limit);
}

const notAscii = /[^\0-\x7f]/;

/** A look that costs little. Tokens of ASCII text stand in it as they are, but for case. */
function mayHold(text: string, phrases: readonly string[][]): boolean {
  if (notAscii.test(text)) return true;
  const lower = text.toLowerCase();
  return phrases.every(([first = ""]) => lower.includes(first));
}
