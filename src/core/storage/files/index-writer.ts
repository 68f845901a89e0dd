import fs from "node:fs";
import type { LogHead, LogProjection } from "../log-store.ts";
import { searchTokens } from "../search-words.ts";
import { type Batch, recordsOf } from "./batch-reader.ts";
import { headOf } from "./commit.ts";
import { fileNameOf } from "./file-name.ts";
import {
  type IndexedFrame,
  type IndexedSegment,
  IndexJournal,
  type JournalFiles,
} from "./index-journal.ts";
import {
  durably,
  IndexDamage,
  idToken,
  inTransaction,
  type OpenDatabase,
  parseStored,
  type Statements,
} from "./index-schema.ts";

/** Where a log ends, as the index knows it. */
export interface IndexEntry {
  readonly seq: number;
  /** Byte offset of the end of the last commit line. */
  readonly end: number;
  /** CRC of the last commit line, 8 hex digits: tells an older copy of the file from the file. */
  readonly crc: string;
}

/** A log as its last commit line has it. */
export interface LogState extends IndexEntry {
  readonly key: string;
  /** JSON of the head, an object. */
  readonly headJson: string;
  readonly damaged: boolean;
}

/** A batch in the bytes of its log. */
export type IndexedBatch = Omit<Batch, "kind">;

/** Logs whose rows are remembered. */
const knownLogs = 4_096;
/** A place is kept at least every so many bytes of a log: what `seek` promises. */
const placeEveryBytes = 64 * 1024;

const notAscii = /[^\0-\x7f]/;

/** A log's row as it is brought up to date. */
interface LogRowDraft {
  readonly collection: string;
  readonly key: string;
  readonly id: number;
  end: number;
  crc: string;
  damaged: boolean;
  /** The newest place that is kept; below 0 when there is none. */
  place: number;
  before: { readonly sortedAt: string; readonly labels: string };
  /** The newest batch that is not written. */
  last: IndexedBatch | undefined;
  readonly places: (readonly [seq: number, start: number])[];
  /** What to write, by number of record. */
  readonly words: Map<number, string>;
  readonly ids: Map<string, number>;
}

/**
 * Writes to `index.db`, from whichever thread opened this connection. Every call throws the errors of
 * SQLite, and what it was to write is not written then.
 */
export class IndexWriter {
  readonly #open: OpenDatabase;
  readonly #sql: Statements;
  readonly #journal: IndexJournal;
  readonly #projections: ReadonlyMap<string, LogProjection>;
  readonly #doubtful = new Set<string>();
  readonly #onDoubt: (collection: string) => void;
  readonly #drafts = new Map<string, LogRowDraft>();
  /** All that the journal holds before this position is in the file. */
  mark = 0;

  /**
   * @param projections of the collections that are open.
   * @param onDoubt called with a collection in which something is not as the file knows it: its logs must be
   *   compared with the file.
   */
  constructor(
    open: OpenDatabase,
    projections: ReadonlyMap<string, LogProjection>,
    onDoubt: (collection: string) => void,
    files?: JournalFiles,
  ) {
    this.#open = open;
    this.#onDoubt = onDoubt;
    this.#journal = new IndexJournal(files);
    this.#sql = open.sql;
    this.#projections = projections;
  }

  /** Whether bytes of removed logs are in the file, whichever thread removed them. */
  get hasForgotten(): boolean {
    return Number(this.#sql.state.get()?.["forgotten"]) === 1;
  }

  began(segment: IndexedSegment): void {
    this.#journal.began(segment);
  }

  /** Writes what the journal holds before this position, a slice of it. @returns whether something is left. */
  take(until: number, most: number): boolean {
    if (until <= this.mark) return false;
    let to = this.mark;
    this.#doubtful.clear();
    this.#transaction(() => {
      const touched = new Set<LogRowDraft>();
      for (const frame of this.#journal.frames(this.mark, until, most)) {
        to = frame.after;
        this.#addFrame(frame, touched);
      }
      if (to === this.mark) to = until; // headers of segments
      this.#finish(touched);
      this.#sql.setMark.run(this.#journal.nthAt(to), to);
    });
    this.mark = to;
    this.#journal.release(to);
    for (const collection of this.#doubtful) this.#onDoubt(collection);
    return to < until;
  }

  /**
   * Writes batches that were read from a log, from the offset `from` on. Between them may be damage.
   *
   * @throws IndexDamage: the file lacks what came before.
   */
  add(collection: string, log: LogState, batches: readonly IndexedBatch[], from: number): void {
    const { key, seq, end, crc, headJson, damaged } = log;
    this.#transaction(() => {
      const touched = new Set<LogRowDraft>();
      for (const batch of batches) {
        const draft = this.#draftOf(collection, key, from === 0);
        if (draft === undefined || draft.end < from)
          throw new IndexDamage("a log begins in its middle");
        if (batch.start >= draft.end) this.#addBatch(draft, batch, touched);
      }
      this.#finish(touched);
      if (!damaged) return;
      // A log without anything readable has a row too: it is listed as damaged, not hidden.
      const draft = end === 0 ? this.#draftOf(collection, key, true) : undefined;
      if (draft) this.#sql.updateLog.run("", seq, end, crc, 1, -1, "[]", headJson, draft.id);
      this.#markDamaged(collection, key);
    });
  }

  markDamaged(collection: string, key: string): void {
    this.#transaction(() => this.#markDamaged(collection, key));
  }

  /** Removes all that is known of a log. Bytes of it stay in the file until `erase`. */
  remove(collection: string, key: string): void {
    this.#drafts.delete(pathOf(collection, key));
    this.#transaction(() => this.#remove(collection, key));
  }

  #remove(collection: string, key: string): void {
    const row = this.#sql.logOf.get(collection, key);
    if (row === undefined) return;
    const id = Number(row["id"]);
    const labels = { sortedAt: String(row["sorted_at"]), labels: String(row["labels"]) };
    removeLabels(this.#sql, collection, key, labels);
    this.#sql.removeWordsAlone.run();
    this.#sql.removeWords.run(id, id);
    this.#sql.removePlaces.run(id);
    this.#sql.removeLog.run(id);
    this.#sql.setForgotten.run(1);
  }

  /** Makes everything durable that was written before: the journal may go. */
  sync(): void {
    const nth = this.#journal.nthAt(this.mark);
    durably(this.#open.database, () => this.#sql.setMark.run(nth, this.mark));
    this.#journal.closeFiles();
  }

  /** Notes durably whether the index has every log of a collection, but for what the journal holds. */
  cover(collection: string, isCovered: boolean): void {
    const { cover, uncover } = this.#sql;
    durably(this.#open.database, () =>
      isCovered ? cover.run(collection, null) : uncover.run(collection),
    );
  }

  /**
   * Makes the bytes of removed logs disappear. Deleting is not enough: SQLite leaves copies of rows in
   * the unused space of pages whenever it rebalances them, whether `secure_delete` is on or not, and the
   * full-text index keeps deleted words, with its own `secure-delete` some of them, until segments
   * are merged. So the words are merged, and then the whole file is written again.
   */
  erase(): void {
    if (!this.hasForgotten) return;
    this.#sql.mergeWords.run();
    this.#open.database.exec("vacuum");
    this.#truncateWal();
    this.#sql.setForgotten.run(0);
  }

  close(): void {
    this.#journal.closeFiles();
  }

  #transaction(work: () => void): void {
    try {
      inTransaction(this.#open.database, work);
    } catch (error) {
      this.#drafts.clear(); // they say what was not written
      throw error;
    }
  }

  #addFrame(frame: IndexedFrame, touched: Set<LogRowDraft>): void {
    const { collection, path, start, end, batch } = frame;
    // One that is not open is compared when it is: its projection is not known here.
    if (!this.#projections.has(collection)) {
      this.#doubt(collection);
      return;
    }
    const known = this.#drafts.get(path);
    if (batch === undefined) {
      if (known !== undefined && known.end <= start) return;
      // The log was cut back: what its row has of it is no more.
      if (known !== undefined) {
        touched.delete(known);
        this.#remove(collection, known.key);
      }
      this.#drafts.delete(path);
      this.#doubt(collection);
      return;
    }
    const draft = known ?? this.#draftOf(collection, headOf(batch.line).key, start === 0);
    if (draft !== undefined && end <= draft.end) return; // it has that
    if (draft?.end === start && draft.crc === batch.commit.prev)
      this.#addBatch(draft, batch, touched);
    else this.#doubt(collection);
  }

  /** Has the logs of a collection compared with their rows, also by the next start. */
  #doubt(collection: string): void {
    this.#sql.uncover.run(collection);
    this.#doubtful.add(collection);
  }

  #addBatch(draft: LogRowDraft, batch: IndexedBatch, touched: Set<LogRowDraft>): void {
    touched.add(draft);
    const { start, end, commit } = batch;
    const projection = this.#projections.get(draft.collection);
    for (const record of recordsOf(batch)) {
      const { id, seq } = record;
      const text = projection?.text(record);
      draft.words.set(seq, text === undefined ? idToken(id) : `${wordsOf(text)} ${idToken(id)}`);
      const hides = projection?.hides(record);
      const hidden = hides === undefined ? undefined : this.#numberOf(draft, hides);
      if (hides !== undefined && hidden !== undefined && hidden < seq)
        draft.words.set(hidden, idToken(hides));
      draft.ids.set(id, seq);
    }
    if (commit.count > 0 && (draft.place < 0 || end - draft.place > placeEveryBytes)) {
      draft.places.push([commit.seq - commit.count + 1, start]);
      draft.place = start;
    }
    draft.end = end;
    draft.crc = commit.crc;
    draft.last = batch;
  }

  /** The newest record with this id. */
  #numberOf({ id: log, ids }: LogRowDraft, id: string): number | undefined {
    const known = ids.get(id);
    if (known !== undefined) return known;
    const [row] = this.#sql.searchLog.all(`"${idToken(id)}"`, log, log, 1);
    return row === undefined ? undefined : Number(row["seq"]);
  }

  /** Writes the words in the order of their rows: the full-text index writes out what it has for one that lies before. */
  #finish(touched: ReadonlySet<LogRowDraft>): void {
    const drafts = [...touched].sort((a, b) => a.id - b.id);
    for (const { id, words } of drafts) {
      const { addWords } = this.#sql;
      for (const [seq, text] of [...words].sort(([a], [b]) => a - b)) addWords.run(id, seq, text);
    }
    for (const draft of drafts) this.#writeRow(draft);
    if (this.#drafts.size > knownLogs) this.#drafts.clear();
  }

  #writeRow(draft: LogRowDraft): void {
    const { collection, key, id, before, last } = draft;
    for (const [seq, start] of draft.places.splice(0)) this.#sql.addPlace.run(id, seq, start);
    draft.words.clear();
    draft.ids.clear();
    draft.last = undefined;
    if (last === undefined) return;
    const { headJson, damaged } = headOf(last.line);
    const projection = this.#projections.get(collection);
    const head = JSON.parse(headJson) as LogHead;
    const sortedAt = projection?.sortedAt(head).toWellFormed() ?? "";
    const own = projection === undefined ? [] : labelsOf(projection, head);
    const labels = JSON.stringify(own);
    draft.damaged ||= damaged;
    if (sortedAt !== before.sortedAt || labels !== before.labels) {
      removeLabels(this.#sql, collection, key, before);
      for (const label of own) this.#sql.addLabel.run(collection, label, sortedAt, key, id);
      draft.before = { sortedAt, labels };
    }
    const place = [Number(draft.damaged), draft.place, labels, headJson, id] as const;
    this.#sql.updateLog.run(sortedAt, last.commit.seq, draft.end, draft.crc, ...place);
  }

  #markDamaged(collection: string, key: string): void {
    this.#sql.markDamaged.run(collection, key);
    for (const draft of this.#drafts.values()) {
      if (draft.collection === collection && draft.key === key) draft.damaged = true;
    }
  }

  /** A log's row. @param begins one is made where there is none: it must not begin in the middle of a log. */
  #draftOf(collection: string, key: string, begins: boolean): LogRowDraft | undefined {
    const name = pathOf(collection, key);
    const known = this.#drafts.get(name);
    if (known !== undefined) return known;
    const row = this.#sql.logOf.get(collection, key);
    if (row === undefined && !begins) return undefined;
    const id = row?.["id"] ?? this.#sql.addLog.run(collection, key).lastInsertRowid;
    const draft: LogRowDraft = {
      collection,
      key,
      id: Number(id),
      end: Number(row?.["end_offset"] ?? 0),
      crc: String(row?.["crc"] ?? ""),
      damaged: row?.["damaged"] === 1,
      place: Number(row?.["place"] ?? -1),
      before: {
        sortedAt: String(row?.["sorted_at"] ?? ""),
        labels: String(row?.["labels"] ?? "[]"),
      },
      last: undefined,
      places: [],
      words: new Map(),
      ids: new Map(),
    };
    this.#drafts.set(name, draft);
    return draft;
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

/** Names the file of a log by its path in the home. */
function pathOf(collection: string, key: string): string {
  const name = `${fileNameOf(key)}.jsonl`;
  return collection === "" ? name : `${collection}/${name}`;
}

/** The labels of a head, each once, in the form that a database gives back. */
export function labelsOf(projection: LogProjection, head: LogHead): readonly string[] {
  const labels = projection.labels(head).map((label) => label.toWellFormed());
  return [...new Set(labels)].sort();
}

/** The full-text index takes ASCII apart as `searchTokens` does: only other texts are taken apart here. */
function wordsOf(text: string): string {
  return notAscii.test(text) ? searchTokens(text).join(" ") : text;
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
