import type { LogProjection, StoredRecord } from "../log-store.ts";
import { searchTokens } from "../search-words.ts";
import { canBegin, labelsOf, needsPlace } from "./index-rules.ts";
import type { IndexedBatch } from "./log-index.ts";
import { parseStored } from "./sqlite-database.ts";
import { type Statements, wordsOf } from "./sqlite-schema.ts";

/** A log's row as it is brought up to date. */
interface LogRowDraft {
  readonly id: number;
  /** The newest place that is kept; below 0 when there is none. */
  place: number;
  readonly before: { readonly sortedAt: string; readonly labels: string };
  last: IndexedBatch | undefined;
}

/**
 * Writes batches of one collection, in order. Rows of logs are written once for all batches of a
 * log. Runs in a transaction of the caller's.
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
    const draft = this.#draftOf(batch, first);
    if (draft === undefined) return;
    for (const record of records) this.#addRecord(draft, batch, record);
    if (first !== undefined && needsPlace(draft.place < 0 ? undefined : draft.place, batch)) {
      this.#sql.addPlace.run(draft.id, first.seq, batch.start);
      draft.place = batch.start;
    }
    draft.last = batch;
  }

  /** Writes the rows of the logs that had batches. */
  finish(): void {
    for (const draft of this.#drafts.values()) {
      if (draft.last !== undefined) this.#writeRow(draft, draft.last);
    }
  }

  #draftOf(batch: IndexedBatch, first: StoredRecord | undefined): LogRowDraft | undefined {
    const known = this.#drafts.get(batch.key);
    if (known !== undefined) return known;
    const draft =
      this.#load(batch.key) ?? (canBegin(batch, first) ? this.#create(batch.key) : undefined);
    if (draft !== undefined) this.#drafts.set(batch.key, draft);
    return draft;
  }

  #load(key: string): LogRowDraft | undefined {
    const row = this.#sql.logOf.get(this.#collection, key);
    if (row === undefined) return undefined;
    const before = { sortedAt: String(row["sorted_at"]), labels: String(row["labels"]) };
    return { id: Number(row["id"]), place: Number(row["place"]), before, last: undefined };
  }

  #create(key: string): LogRowDraft {
    const { lastInsertRowid } = this.#sql.addLog.run(this.#collection, key);
    const before = { sortedAt: "", labels: "[]" };
    return { id: Number(lastInsertRowid), place: -1, before, last: undefined };
  }

  #addRecord(draft: LogRowDraft, batch: IndexedBatch, record: StoredRecord): void {
    this.#sql.addId.run(draft.id, record.id, record.seq, batch.start);
    const text = this.#projection.text(record);
    const tokens = text === undefined ? [] : searchTokens(text);
    if (tokens.length > 0)
      wordsOf(this.#sql, draft.id).add.run(draft.id, record.seq, tokens.join(" "));
    const hidden = this.#projection.hides(record);
    if (hidden === undefined) return;
    const seq = this.#sql.seqOf.get(draft.id, hidden)?.["seq"];
    if (typeof seq === "number" && seq < record.seq)
      wordsOf(this.#sql, draft.id).drop.run(draft.id, seq);
  }

  #writeRow(draft: LogRowDraft, batch: IndexedBatch): void {
    const sortedAt = this.#projection.sortedAt(batch.head).toWellFormed();
    const labels = JSON.stringify(labelsOf(this.#projection, batch));
    const { before } = draft;
    if (sortedAt !== before.sortedAt || labels !== before.labels) {
      dropLabels(this.#sql, this.#collection, batch.key, before);
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
export function dropLabels(
  sql: Statements,
  collection: string,
  key: string,
  row: { readonly sortedAt: string; readonly labels: string },
): void {
  for (const label of parseStored<readonly string[]>(row.labels)) {
    sql.dropLabel.run(collection, label, row.sortedAt, key);
  }
}
