import fs from "node:fs";
import { searchTokens } from "../search-words.ts";
import { canBegin, needsPlace } from "./index-rules.ts";
import type { IndexChange, IndexedRecord, IndexRow } from "./log-index.ts";
import { inTransaction, type OpenDatabase, parseStored } from "./sqlite-file.ts";
import { removedAtOnce, removedLogs, type Statements } from "./sqlite-schema.ts";

/** Pages of words that are merged at a time: some milliseconds. */
const mergedPages = 64;

/** A log's row as it is brought up to date. */
interface LogRowDraft {
  readonly collection: string;
  readonly key: string;
  readonly id: number;
  /** The newest place that is kept; below 0 when there is none. */
  place: number;
  readonly before: { readonly sortedAt: string; readonly labels: string };
  last: IndexRow | undefined;
  /** By number of their records; none: they are hidden. */
  readonly words: Map<number, readonly string[]>;
}

/**
 * Writes to `index.db`, from whichever thread opened this connection. Every call throws the errors of
 * SQLite, and what it was to write is not written then.
 */
export class IndexWriter {
  readonly #open: OpenDatabase;
  readonly #sql: Statements;
  #isMerging = false;

  constructor(open: OpenDatabase) {
    this.#open = open;
    this.#sql = open.sql;
  }

  /** Whether bytes of removed logs are in the file, whichever thread removed them. */
  get hasForgotten(): boolean {
    return Number(this.#sql.state.get()?.["forgotten"]) === 1;
  }

  /**
   * Writes these changes in order, in one transaction.
   *
   * @param mark all that the journal holds before this position is in the index then.
   */
  write(changes: readonly IndexChange[], mark: number | undefined): void {
    const removes = changes.some((change) => "removed" in change);
    this.#transaction(() => {
      let rows = new RowWriter(this.#sql);
      for (const change of changes) {
        if (!("removed" in change)) {
          rows.add(change);
          continue;
        }
        rows.finish();
        rows = new RowWriter(this.#sql);
        this.#remove(change.collection, change.key);
      }
      rows.finish();
      if (removes) this.#sql.setForgotten.run(1);
      if (mark !== undefined) this.#sql.setMark.run(mark);
    });
    if (removes) this.#isMerging = false; // what is merged so far holds what is removed now
  }

  /** Makes everything durable that was written before. */
  sync(): void {
    this.#durably(() => this.#sql.setMark.run(Number(this.#sql.state.get()?.["mark"])));
  }

  /** Notes durably whether the index has every log of a collection, but for what the journal holds. */
  cover(collection: string, isCovered: boolean): void {
    const { cover, uncover } = this.#sql;
    this.#durably(() => (isCovered ? cover.run(collection, null) : uncover.run(collection)));
  }

  #durably(work: () => void): void {
    const { database } = this.#open;
    database.exec("pragma synchronous = full");
    try {
      this.#transaction(work);
    } finally {
      database.exec("pragma synchronous = normal");
    }
  }

  /**
   * A slice of making the bytes of removed logs disappear. Deleting is not enough: SQLite leaves copies of rows in
   * the unused space of pages whenever it rebalances them, whether `secure_delete` is on or not, and the
   * full-text index keeps deleted words, with its own `secure-delete` some of them, until segments
   * are merged. So the words are merged, and then the whole file is written again.
   *
   * @returns whether some is left.
   */
  eraseSome(): boolean {
    if (!this.hasForgotten) return false;
    if (this.#removeSome() || this.#mergeSome()) return true;
    const { database } = this.#open;
    database.exec("vacuum");
    this.#truncateWal();
    this.#sql.setForgotten.run(0);
    return false;
  }

  #transaction(work: () => void): void {
    inTransaction(this.#open.database, work);
  }

  /** Its row goes to the removed ones, where `eraseSome` finds it. */
  #remove(collection: string, key: string): void {
    const row = this.#sql.logOf.get(collection, key);
    if (row === undefined) return;
    const id = Number(row["id"]);
    const labels = { sortedAt: String(row["sorted_at"]), labels: String(row["labels"]) };
    removeLabels(this.#sql, collection, key, labels);
    this.#sql.moveToRemoved.run(removedLogs, String(id), id);
  }

  /** Removes some of what is left of a removed log. @returns whether there was any. */
  #removeSome(): boolean {
    const row = this.#sql.removedLog.get(removedLogs);
    if (row === undefined) return false;
    const id = Number(row["id"]);
    const left = Math.max(0, Number(row["seq"]) - removedAtOnce);
    const words = this.#sql.words();
    this.#transaction(() => {
      words.removeAlone.run();
      words.removeAfter.run(id, left, id);
      this.#sql.shortenLog.run(left, id);
      if (Number(this.#sql.removeIds.run(id).changes) > 0 || left > 0) return;
      this.#sql.removePlaces.run(id);
      this.#sql.removeLog.run(id);
    });
    return true;
  }

  /** Merges some of the words. @returns whether there is more. */
  #mergeSome(): boolean {
    const changes = () => Number(this.#sql.changes.get()?.["changes"]);
    const before = changes();
    this.#sql.words().merge.run(this.#isMerging ? mergedPages : -mergedPages);
    // SQLite's own sign that nothing was left to merge.
    this.#isMerging = changes() - before >= 2;
    return this.#isMerging;
  }

  /** What was written before the file was written again is in it too, and after a power cut. */
  #truncateWal(): void {
    const { database } = this.#open;
    const path = database.location();
    if (path === null) return;
    const row = database.prepare("pragma wal_checkpoint(truncate)").get();
    if (row?.["busy"] !== 0)
      throw new Error("the index is read, and its journal cannot be cut off");
    const descriptor = fs.openSync(`${path}-wal`, "r+");
    try {
      fs.fsyncSync(descriptor);
    } finally {
      fs.closeSync(descriptor);
    }
  }
}

/**
 * Writes batches. Rows of logs are written once for all batches of a log, and words in the order of their
 * rows: the full-text index writes out what it has whenever a row comes that lies before the last one.
 */
class RowWriter {
  readonly #sql: Statements;
  readonly #drafts = new Map<string, LogRowDraft>();

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  add(row: IndexRow): void {
    const draft = this.#draftOf(row);
    if (draft === undefined) return;
    for (const record of row.records) this.#addRecord(draft, row.start, record);
    const [first] = row.records;
    if (first !== undefined && needsPlace(draft.place < 0 ? undefined : draft.place, row)) {
      this.#sql.addPlace.run(draft.id, first.seq, row.start);
      draft.place = row.start;
    }
    draft.last = row;
  }

  /** Writes the words, and the rows of the logs that had batches. */
  finish(): void {
    const drafts = [...this.#drafts.values()].sort((a, b) => a.id - b.id);
    for (const draft of drafts) this.#writeWords(draft);
    for (const draft of drafts) {
      if (draft.last !== undefined) this.#writeRow(draft, draft.last);
    }
  }

  #draftOf(row: IndexRow): LogRowDraft | undefined {
    const { collection, key } = row;
    const name = `${collection}/${key}`;
    const known = this.#drafts.get(name);
    if (known !== undefined) return known;
    const draft = this.#load(collection, key) ?? this.#create(row);
    if (draft !== undefined) this.#drafts.set(name, draft);
    return draft;
  }

  #load(collection: string, key: string): LogRowDraft | undefined {
    const row = this.#sql.logOf.get(collection, key);
    if (row === undefined) return undefined;
    const before = { sortedAt: String(row["sorted_at"]), labels: String(row["labels"]) };
    const place = Number(row["place"]);
    const id = Number(row["id"]);
    return { collection, key, id, place, before, last: undefined, words: new Map() };
  }

  #create(row: IndexRow): LogRowDraft | undefined {
    if (!canBegin(row)) return undefined;
    const { collection, key } = row;
    const { lastInsertRowid } = this.#sql.addLog.run(collection, key);
    const before = { sortedAt: "", labels: "[]" };
    const id = Number(lastInsertRowid);
    return { collection, key, id, place: -1, before, last: undefined, words: new Map() };
  }

  #addRecord(draft: LogRowDraft, start: number, { id, seq, text, hides }: IndexedRecord): void {
    this.#sql.addId.run(draft.id, id, seq, start);
    const tokens = text === undefined ? [] : searchTokens(text);
    if (tokens.length > 0) draft.words.set(seq, tokens);
    if (hides === undefined) return;
    const hidden = this.#sql.find.get(draft.id, hides)?.["seq"];
    if (typeof hidden === "number" && hidden < seq) draft.words.set(hidden, []);
  }

  #writeWords({ id, words: drafts }: LogRowDraft): void {
    if (drafts.size === 0) return;
    const words = this.#sql.words();
    for (const [seq, tokens] of [...drafts].sort(([a], [b]) => a - b)) {
      if (tokens.length > 0) words.add.run(id, seq, tokens.join(" "));
      else words.remove.run(id, seq);
    }
  }

  #writeRow(draft: LogRowDraft, row: IndexRow): void {
    const { collection, key, before } = draft;
    const { sortedAt } = row;
    const labels = JSON.stringify(row.labels);
    if (sortedAt !== before.sortedAt || labels !== before.labels) {
      removeLabels(this.#sql, collection, key, before);
      for (const label of row.labels) {
        this.#sql.addLabel.run(collection, label, sortedAt, key, draft.id);
      }
    }
    const { seq, end, crc, damaged, headJson } = row;
    const flags = [damaged ? 1 : 0, draft.place, labels, headJson] as const;
    this.#sql.updateLog.run(sortedAt, seq, end, crc, ...flags, draft.id);
  }
}

/** Removes the labels that a log's row says it has. */
function removeLabels(
  sql: Statements,
  collection: string,
  key: string,
  row: { readonly sortedAt: string; readonly labels: string },
): void {
  for (const label of parseStored<readonly string[]>(row.labels)) {
    sql.removeLabel.run(collection, label, row.sortedAt, key);
  }
}
