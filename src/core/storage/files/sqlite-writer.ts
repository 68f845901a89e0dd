import type { LogProjection, StoredRecord } from "../log-store.ts";
import { searchTokens } from "../search-words.ts";
import { canBegin, labelsOf, needsPlace } from "./index-rules.ts";
import type { IndexedBatch } from "./log-index.ts";
import { parseStored } from "./sqlite-database.ts";
import { type Statements, wordsOf } from "./sqlite-schema.ts";

/** A log's row as it is brought up to date. */
interface LogRowDraft {
  readonly key: string;
  readonly id: number;
  /** The newest place that is kept; below 0 when there is none. */
  place: number;
  readonly before: { readonly sortedAt: string; readonly labels: string };
  last: IndexedBatch | undefined;
  /** By number of their records; none: they are hidden. */
  readonly words: Map<number, readonly string[]>;
}

/**
 * Writes batches of one collection, in order. Rows of logs are written once for all batches of a
 * log, and words in the order of their rows: the full-text index writes out what it has whenever a
 * row comes that lies before the last one. Runs in a transaction of the caller's.
 */
export class IndexWriter {
  readonly #sql: Statements;
  readonly #collection: string;
  readonly #projection: LogProjection;
  readonly #drafts = new Map<string, LogRowDraft>();

  constructor(sql: Statements, collection: string, projection: LogProjection) {
    this.#sql = sql;
    this.#collection = collection;
    this.#projection = projection;
  }

  add(batch: IndexedBatch, records: readonly StoredRecord[]): void {
    const [first] = records;
    const draft = this.#draftOf(batch);
    if (draft === undefined) return;
    for (const record of records) this.#addRecord(draft, batch, record);
    if (first !== undefined && needsPlace(draft.place < 0 ? undefined : draft.place, batch)) {
      this.#sql.addPlace.run(draft.id, first.seq, batch.start);
      draft.place = batch.start;
    }
    draft.last = batch;
  }

  /** Writes the words, and the rows of the logs that had batches. */
  finish(): void {
    const drafts = [...this.#drafts.values()].sort((a, b) => a.id - b.id);
    for (const draft of drafts) this.#writeWords(draft);
    for (const draft of drafts) {
      if (draft.last !== undefined) this.#writeRow(draft, draft.last);
    }
  }

  #draftOf(batch: IndexedBatch): LogRowDraft | undefined {
    const known = this.#drafts.get(batch.key);
    if (known !== undefined) return known;
    const draft = this.#load(batch.key) ?? (canBegin(batch) ? this.#create(batch.key) : undefined);
    if (draft !== undefined) this.#drafts.set(batch.key, draft);
    return draft;
  }

  #load(key: string): LogRowDraft | undefined {
    const row = this.#sql.logOf.get(this.#collection, key);
    if (row === undefined) return undefined;
    const before = { sortedAt: String(row["sorted_at"]), labels: String(row["labels"]) };
    const place = Number(row["place"]);
    return { key, id: Number(row["id"]), place, before, last: undefined, words: new Map() };
  }

  #create(key: string): LogRowDraft {
    const { lastInsertRowid } = this.#sql.addLog.run(this.#collection, key);
    const before = { sortedAt: "", labels: "[]" };
    const id = Number(lastInsertRowid);
    return { key, id, place: -1, before, last: undefined, words: new Map() };
  }

  #addRecord(draft: LogRowDraft, batch: IndexedBatch, record: StoredRecord): void {
    this.#sql.addId.run(draft.id, record.id, record.seq, batch.start);
    const text = this.#projection.text(record);
    const tokens = text === undefined ? [] : searchTokens(text);
    if (tokens.length > 0) draft.words.set(record.seq, tokens);
    const hidden = this.#projection.hides(record);
    if (hidden === undefined) return;
    const seq = this.#sql.seqOf.get(draft.id, hidden)?.["seq"];
    if (typeof seq === "number" && seq < record.seq) draft.words.set(seq, []);
  }

  #writeWords({ key, id, words: drafts }: LogRowDraft): void {
    const words = wordsOf(this.#sql, key);
    for (const [seq, tokens] of [...drafts].sort(([a], [b]) => a - b)) {
      if (tokens.length > 0) words.add.run(id, seq, tokens.join(" "));
      else words.remove.run(id, seq);
    }
  }

  #writeRow(draft: LogRowDraft, batch: IndexedBatch): void {
    const sortedAt = this.#projection.sortedAt(batch.head).toWellFormed();
    const labels = JSON.stringify(labelsOf(this.#projection, batch));
    const { before } = draft;
    if (sortedAt !== before.sortedAt || labels !== before.labels) {
      removeLabels(this.#sql, this.#collection, batch.key, before);
      for (const label of labelsOf(this.#projection, batch)) {
        this.#sql.addLabel.run(this.#collection, label, sortedAt, batch.key, draft.id);
      }
    }
    const { seq, end, crc, damaged, head } = batch;
    const flags = [damaged ? 1 : 0, draft.place, labels, JSON.stringify(head)] as const;
    this.#sql.updateLog.run(sortedAt, seq, end, crc, ...flags, draft.id);
  }
}

/** Removes the labels that a log's row says it has. */
export function removeLabels(
  sql: Statements,
  collection: string,
  key: string,
  row: { readonly sortedAt: string; readonly labels: string },
): void {
  for (const label of parseStored<readonly string[]>(row.labels)) {
    sql.removeLabel.run(collection, label, row.sortedAt, key);
  }
}
