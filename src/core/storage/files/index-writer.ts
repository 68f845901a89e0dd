// What writes to `index.db`, in the thread of the index or in the main thread.
import { syncNow } from "../disk/disk.ts";
import type { LogHead, LogProjection } from "../log-store.ts";
import { searchTokens } from "../search-words.ts";
import { type Batch, recordsOf } from "./batch-reader.ts";
import { headOf, type LogEnd } from "./commit.ts";
import { logName } from "./file-name.ts";
import {
  framesOf,
  type IndexedFrame,
  type IndexedSegment,
  type ReadJournal,
  readJournalFile,
} from "./index-journal.ts";
import {
  durably,
  IndexDamage,
  idToken,
  inTransaction,
  type OpenDatabase,
  parseStored,
} from "./index-schema.ts";

/** Where a log ends, as the index knows it. */
export type IndexEntry = Omit<LogEnd, "headJson">;

/** A log as its last commit line has it. */
export interface LogState extends LogEnd {
  readonly key: string;
  readonly damaged: boolean;
}

/** A batch in the bytes of its log. */
export type IndexedBatch = Omit<Batch, "kind">;

/** What the index is asked for. */
export type IndexRequest =
  /** Batches that were read from a log, from the offset `from` on. Between them may be damage. */
  | {
      readonly do: "add";
      readonly collection: string;
      readonly key: string;
      readonly damaged: boolean;
      readonly batches: readonly IndexedBatch[];
      readonly from: number;
    }
  /** Bytes of a removed log stay in the file until "erase". */
  | { readonly do: "remove" | "damaged"; readonly collection: string; readonly key: string }
  /** Notes durably whether the index has every log of a collection, but for what the journal holds. */
  | { readonly do: "cover"; readonly collection: string; readonly isCovered: boolean }
  /** Notes that nothing is missing in the file, and when the directories of collections last changed that it has whole. */
  | { readonly do: "end"; readonly covered: readonly (readonly [string, string | null])[] }
  /** "sync" makes all durable that was written before: the journal may go. */
  | { readonly do: "sync" | "erase" }
  /** @param but so many bytes of the journal may be missing. */
  | { readonly do: "catch up"; readonly but?: number };

/** A request. What the journal holds before the position `until` is written first. */
export interface Asked {
  readonly request: IndexRequest;
  readonly until: number;
}

/** A place is kept at least every so many bytes of a log: what `seek` promises. */
const placeEveryBytes = 64 * 1024;

const notAscii = /[^\0-\x7f]/;

/** A log's row as a transaction brings it up to date. */
interface LogRowDraft {
  readonly collection: string;
  readonly key: string;
  readonly path: string;
  readonly id: number;
  end: number;
  crc: string;
  damaged: boolean;
  /** The log was cut back: the row fits nothing any more. */
  isCut: boolean;
  /** The newest place that is kept; below 0 when there is none. */
  place: number;
  readonly sortedAt: string;
  readonly labels: string;
  /** The newest batch that is not written. */
  last: IndexedBatch | undefined;
  readonly places: (readonly [seq: number, start: number])[];
  /** What to write, by number of record. */
  readonly words: Map<number, string>;
  readonly ids: Map<string, number>;
}

interface WriterOptions {
  readonly open: OpenDatabase;
  /** The projection of a collection that is open. */
  projectionOf(collection: string): LogProjection | undefined;
  /** The segments that hold the journal from the mark on. */
  readonly segments: readonly IndexedSegment[];
  /** All that the journal holds before the second of these positions is in the file. */
  readonly marks: Float64Array;
  /** Called with a collection in which something is not as the file knows it: its logs must be compared with the file. */
  onDoubt(collection: string): void;
  readonly read?: ReadJournal | undefined;
}

/** Every call throws the errors of SQLite and of the journal's files, and what it was to write is not written then. */
export class IndexWriter {
  readonly #options: WriterOptions;
  /** Rows that the transaction changes, by the paths of their logs. */
  readonly #drafts = new Map<string, LogRowDraft>();

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  get mark(): number {
    return this.#options.marks[1] ?? 0;
  }

  get #sql() {
    return this.#options.open.sql;
  }

  /**
   * Does what was asked for, a slice at a time.
   *
   * @param most bytes of the journal in a slice.
   * @returns whether all of it is done.
   */
  perform({ request, until }: Asked, most: number): boolean {
    const but = request.do === "catch up" ? (request.but ?? 0) : 0;
    if (until - but > this.mark && this.take(until, most)) return false;
    if (request.do === "add") this.#add(request);
    else if (request.do === "remove" || request.do === "damaged") this.#change(request);
    else if (request.do === "cover") this.#cover(request.collection, request.isCovered);
    else if (request.do === "end") this.#end(request.covered);
    else if (request.do === "sync") durably(this.#options.open.database, () => this.#keepMark());
    else if (request.do === "erase") this.#erase();
    return true;
  }

  /** Writes what the journal holds before this position, a slice of it. @returns whether something is left. */
  take(until: number, most: number): boolean {
    const { mark } = this;
    if (until <= mark) return false;
    const { segments, read = readJournalFile, onDoubt } = this.#options;
    const doubtful = new Set<string>();
    let to = mark;
    this.#transaction(() => {
      for (const frame of framesOf(segments, read, { from: mark, to: until, most })) {
        to = frame.after;
        this.#addFrame(frame, doubtful);
      }
      if (to === mark) to = until; // headers of segments
      // Has the logs of a collection compared with their rows, also by the next start.
      for (const collection of doubtful) this.#sql.uncover.run(collection);
      this.#keepMark(to);
    });
    // First: who sees the mark there takes the rows for what the logs hold.
    for (const collection of doubtful) onDoubt(collection);
    this.#options.marks[1] = to;
    return to < until;
  }

  #keepMark(mark = this.mark): void {
    const segment = this.#options.segments.findLast(({ position }) => position <= mark);
    this.#sql.setMark.run(segment?.nth ?? 0, mark);
  }

  #transaction(work: () => void): void {
    this.#drafts.clear();
    inTransaction(this.#options.open.database, () => {
      work();
      this.#writeDrafts();
    });
  }

  #addFrame({ collection, path, start, end, batch }: IndexedFrame, doubtful: Set<string>): void {
    // One that is not open is compared when it is: its projection is not known here.
    if (this.#options.projectionOf(collection) === undefined) {
      doubtful.add(collection);
      return;
    }
    const known = this.#draftOf(collection, path);
    if (batch === undefined) {
      if (known === undefined || known.end <= start) return;
      // What the row has of the log is no more. Its ids can be found until the log is compared with it.
      if (start > 0) known.isCut = true;
      else this.#remove(known);
      doubtful.add(collection);
      return;
    }
    const isNew = known === undefined && start === 0;
    const draft = isNew ? this.#begin(collection, headOf(batch.line).key) : known;
    if (draft !== undefined && end <= draft.end) return; // it has that
    if (draft?.end === start && draft.crc === batch.commit.prev) this.#addBatch(draft, batch);
    else doubtful.add(collection);
  }

  /** @throws IndexDamage: the file lacks what came before. */
  #add({ collection, key, damaged, batches, from }: IndexRequest & { readonly do: "add" }): void {
    this.#transaction(() => {
      const known = this.#draftOf(collection, logName(collection, key));
      const draft = known ?? (from === 0 ? this.#begin(collection, key) : undefined);
      if (draft === undefined || draft.end < from)
        throw new IndexDamage("a log begins in its middle");
      for (const batch of batches.map(withBuffers)) {
        if (batch.start >= draft.end) this.#addBatch(draft, batch);
      }
      // A log without anything readable has a row too: it is listed as damaged, not hidden.
      draft.damaged ||= damaged;
    });
  }

  #change({ do: how, collection, key }: Extract<IndexRequest, { do: "remove" | "damaged" }>): void {
    this.#transaction(() => {
      const draft = this.#draftOf(collection, logName(collection, key));
      if (draft === undefined) return;
      if (how === "remove") this.#remove(draft);
      else draft.damaged = true;
    });
  }

  #cover(collection: string, isCovered: boolean): void {
    const { cover, uncover } = this.#sql;
    durably(this.#options.open.database, () =>
      isCovered ? cover.run(collection, null) : uncover.run(collection),
    );
  }

  #end(covered: readonly (readonly [string, string | null])[]): void {
    const { cover, setClean, setMark } = this.#sql;
    durably(this.#options.open.database, () => {
      setClean.run(1);
      setMark.run(0, 0);
      for (const each of covered) cover.run(...each);
    });
  }

  /**
   * Makes the bytes of removed logs disappear. Deleting is not enough: SQLite leaves copies of rows in
   * the unused space of pages whenever it rebalances them, whether `secure_delete` is on or not, and the
   * full-text index keeps deleted words, with its own `secure-delete` some of them, until segments
   * are merged. So the words are merged, and then the whole file is written again.
   */
  #erase(): void {
    if (this.#sql.state.get()?.["forgotten"] !== 1) return;
    this.#sql.mergeWords.run();
    this.#options.open.database.exec("vacuum");
    this.#truncateWal();
    this.#sql.setForgotten.run(0);
  }

  /** What was written before the file was written again is in it too, and after a power cut. */
  #truncateWal(): void {
    const { database } = this.#options.open;
    const path = database.location();
    if (path === null) return;
    const row = database.prepare("pragma wal_checkpoint(truncate)").get();
    if (row?.["busy"] !== 0)
      throw new Error("the index is read, and its journal cannot be cut off");
    syncNow(`${path}-wal`, "r+");
  }

  /** The row of a log, if it has one. */
  #draftOf(collection: string, path: string): LogRowDraft | undefined {
    const known = this.#drafts.get(path);
    if (known !== undefined) return known;
    const row = this.#sql.logOf.get(collection, path);
    if (row === undefined) return undefined;
    const draft: LogRowDraft = {
      collection,
      key: String(row["key"]),
      path,
      id: Number(row["id"]),
      end: Number(row["end_offset"]),
      crc: String(row["crc"]),
      damaged: row["damaged"] === 1,
      isCut: false,
      place: Number(row["place"]),
      sortedAt: String(row["sorted_at"]),
      labels: String(row["labels"]),
      last: undefined,
      places: [],
      words: new Map(),
      ids: new Map(),
    };
    this.#drafts.set(path, draft);
    return draft;
  }

  /** Makes a row. It must not begin in the middle of its log. */
  #begin(collection: string, key: string): LogRowDraft | undefined {
    const path = logName(collection, key);
    this.#sql.addLog.run(collection, key, path);
    return this.#draftOf(collection, path);
  }

  #remove(draft: LogRowDraft): void {
    const { id } = draft;
    this.#drafts.delete(draft.path);
    this.#removeLabels(draft);
    this.#sql.removeWordsAlone.run();
    this.#sql.removeWords.run(id, id);
    this.#sql.removePlaces.run(id);
    this.#sql.removeLog.run(id);
    this.#sql.setForgotten.run(1);
  }

  #addBatch(draft: LogRowDraft, batch: IndexedBatch): void {
    const { start, end, commit } = batch;
    const projection = this.#options.projectionOf(draft.collection);
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
  #writeDrafts(): void {
    const drafts = [...this.#drafts.values()].sort((a, b) => a.id - b.id);
    const { addWords, addPlace } = this.#sql;
    for (const { id, words } of drafts) {
      for (const [seq, text] of [...words].sort(([a], [b]) => a - b)) addWords.run(id, seq, text);
    }
    for (const draft of drafts) {
      for (const [seq, start] of draft.places) addPlace.run(draft.id, seq, start);
      if (draft.last !== undefined) this.#writeRow(draft, draft.last);
      else if (draft.damaged) this.#sql.markDamaged.run(draft.id);
      if (draft.isCut) this.#sql.cut.run(draft.id);
    }
  }

  #writeRow(draft: LogRowDraft, last: IndexedBatch): void {
    const { collection, key, id } = draft;
    const { headJson, damaged } = headOf(last.line);
    const projection = this.#options.projectionOf(collection);
    const head = JSON.parse(headJson) as LogHead;
    const sortedAt = projection?.sortedAt(head).toWellFormed() ?? "";
    const own = projection === undefined ? [] : labelsOf(projection, head);
    const labels = JSON.stringify(own);
    if (sortedAt !== draft.sortedAt || labels !== draft.labels) {
      this.#removeLabels(draft);
      for (const label of own) this.#sql.addLabel.run(collection, label, sortedAt, key, id);
    }
    const { seq } = last.commit;
    const { end, crc, place } = draft;
    const isDamaged = Number(draft.damaged || damaged);
    this.#sql.updateLog.run(sortedAt, seq, end, crc, isDamaged, place, labels, headJson, id);
  }

  /** Removes the labels that a log's row says it has. */
  #removeLabels({ collection, key, sortedAt, labels }: LogRowDraft): void {
    for (const label of parseStored<readonly string[]>(labels)) {
      this.#sql.removeLabel.run(collection, label, sortedAt, key);
    }
  }
}

/** Bytes come as plain ones from another thread. */
function withBuffers(batch: IndexedBatch): IndexedBatch {
  const buffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return { ...batch, body: buffer(batch.body), line: buffer(batch.line) };
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
