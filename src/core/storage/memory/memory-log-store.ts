import {
  checkEnd,
  checkIds,
  checkList,
  checkPage,
  checkRead,
  checkSame,
  checkSearch,
  checkTail,
  comparePlaces,
  erasedJson,
  isErased,
  type ListPlace,
  listCursor,
  type PreparedRecord,
  parseCursor,
  prepareBatch,
  prepareErasure,
  storedRecord,
} from "../batch.ts";
import { checkKey } from "../key.ts";
import {
  type AppendOptions,
  type EraseOptions,
  type ListOptions,
  type ListPage,
  type LogHead,
  type LogProjection,
  type LogRecord,
  type LogStore,
  type LogTail,
  logLimits,
  type PageOptions,
  type SearchHit,
  type SearchOptions,
  type StoredRecord,
} from "../log-store.ts";
import { endsOpen, holdsEvery, queryPhrases, searchTokens } from "../search-words.ts";

/** One log: its records as JSON text; the record at index `i` has the `seq` `i + 1`. */
interface MemoryLog {
  readonly records: PreparedRecord[];
  readonly seqById: Map<string, number>;
  headJson: string;
}

/**
 * Logs in a map. Every call does its whole work before it returns its promise, so calls cannot
 * overlap; `list` and `search` scan everything.
 */
export class MemoryLogStore implements LogStore {
  readonly #logs = new Map<string, MemoryLog>();
  readonly #projection: LogProjection;
  readonly #checkOpen: () => void;

  constructor(projection: LogProjection, checkOpen: () => void) {
    this.#projection = projection;
    this.#checkOpen = checkOpen;
  }

  async append(
    key: string,
    records: readonly LogRecord[],
    options?: AppendOptions,
  ): Promise<number> {
    this.#checkOpen();
    const batch = prepareBatch(key, records, options);
    const log = this.#logs.get(key) ?? emptyLog();
    const missing = batch.records.filter((record) => !isKnown(log, record));
    if (missing.length > 0) {
      checkEnd(log.records.length, batch.expectedSeq);
      for (const record of missing) log.seqById.set(record.id, log.records.push(record));
      log.headJson = batch.headJson ?? log.headJson;
      this.#logs.set(key, log);
    }
    return batch.records.reduce((_, { id }) => log.seqById.get(id) ?? 0, 0);
  }

  async tail(key: string, limit: number): Promise<LogTail | undefined> {
    this.#checkOpen();
    checkTail(key, limit);
    const log = this.#logs.get(key);
    if (log === undefined) return undefined;
    const records = limit === 0 ? [] : await this.page(key, { limit });
    return { seq: log.records.length, head: headOf(log), records, damaged: false };
  }

  async page(key: string, options: PageOptions): Promise<readonly StoredRecord[]> {
    this.#checkOpen();
    checkPage(key, options);
    const log = this.#logs.get(key);
    if (log === undefined) return [];
    const { before, after, limit } = options;
    let bytes = 0;
    /** Whether a record is the first of a page, or has room in it. */
    const fits = ({ json }: { readonly json: string }) => {
      const hasRoom = bytes < logLimits.pageBytes;
      bytes += Buffer.byteLength(json);
      return hasRoom;
    };
    if (after !== undefined) {
      const asked = log.records.slice(after, after + limit);
      const past = asked.findIndex((record) => !fits(record));
      return between(log, after, after + (past < 0 ? limit : past));
    }
    const end = Math.min(log.records.length, Math.max(0, (before ?? Number.MAX_VALUE) - 1));
    const start = Math.max(0, end - limit);
    const past = log.records.slice(start, end).findLastIndex((record) => !fits(record));
    return between(log, start + past + 1, end);
  }

  async *read(
    key: string,
    options: { readonly after?: number } = {},
  ): AsyncGenerator<StoredRecord, void, undefined> {
    this.#checkOpen();
    const after = options.after === undefined ? 0 : options.after;
    checkRead(key, after);
    const log = this.#logs.get(key);
    const end = log?.records.length ?? 0;
    for (let seq = after + 1; seq <= end; seq++) {
      if (log === undefined || this.#logs.get(key) !== log) return; // forgotten in between
      yield* between(log, seq - 1, seq);
    }
  }

  async find(key: string, id: string): Promise<StoredRecord | undefined> {
    return (await this.findAll(key, [id])).get(id);
  }

  async findAll(key: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredRecord>> {
    this.#checkOpen();
    checkIds(key, ids);
    const log = this.#logs.get(key);
    const found = new Map<string, StoredRecord>();
    for (const id of ids) {
      const seq = log?.seqById.get(id);
      if (log === undefined || seq === undefined) continue;
      for (const record of between(log, seq - 1, seq)) found.set(id, record);
    }
    return found;
  }

  async erase(key: string, ids: readonly string[], options?: EraseOptions): Promise<number> {
    this.#checkOpen();
    const erasure = prepareErasure(key, ids, options);
    const log = this.#logs.get(key);
    checkEnd(log?.records.length ?? 0, erasure.expectedSeq);
    if (log === undefined) return 0;
    let erased = 0;
    for (const id of erasure.ids) {
      const seq = log.seqById.get(id);
      if (seq === undefined || isErasedAt(log, seq)) continue;
      log.records[seq - 1] = { id, json: erasedJson(id) };
      erased++;
    }
    log.headJson = erasure.headJson ?? log.headJson;
    return erased;
  }

  async delete(key: string): Promise<boolean> {
    this.#checkOpen();
    checkKey(key, "key", logLimits.keyBytes);
    return this.#logs.delete(key);
  }

  async list(options: ListOptions): Promise<ListPage> {
    this.#checkOpen();
    checkList(options);
    const { limit, cursor, label } = options;
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    const found = this.#newestFirst()
      .filter(({ log }) => label === undefined || this.#labels(log).includes(label))
      .filter((row) => after === undefined || comparePlaces(row, after) > 0);
    const rows = found.slice(0, limit).map(({ key, log }) => {
      return { key, seq: log.records.length, head: headOf(log), damaged: false };
    });
    const last = found.length > limit ? found[limit - 1] : undefined;
    return last === undefined ? { rows } : { rows, cursor: listCursor(last) };
  }

  async search(query: string, options: SearchOptions): Promise<readonly SearchHit[]> {
    this.#checkOpen();
    checkSearch(query, options);
    const phrases = queryPhrases(query);
    if (phrases.length === 0) return [];
    const isOpen = endsOpen(query, options.prefix);
    const holds = (text: string) => holdsEvery(searchTokens(text), phrases, isOpen);
    const searched = options.key === undefined ? this.#newestFirst() : this.#one(options.key);
    return searched
      .flatMap(({ key, log }) =>
        this.#matches(log, holds).map((record) => {
          return { key, record };
        }),
      )
      .slice(0, options.limit);
  }

  #one(key: string): { readonly key: string; readonly log: MemoryLog }[] {
    const log = this.#logs.get(key);
    return log === undefined ? [] : [{ key, log }];
  }

  /** Every log, in the order of lists. */
  #newestFirst(): (ListPlace & { readonly log: MemoryLog })[] {
    return [...this.#logs]
      .map(([key, log]) => ({
        key,
        log,
        sortedAt: this.#projection.sortedAt(headOf(log)).toWellFormed(),
      }))
      .sort(comparePlaces);
  }

  #labels(log: MemoryLog): readonly string[] {
    return this.#projection.labels(headOf(log));
  }

  /** The records of a log that hold what is searched and that no later record hides, newest first. */
  #matches(log: MemoryLog, holds: (text: string) => boolean): StoredRecord[] {
    const hidden = new Set<string>();
    return between(log, 0, log.records.length)
      .reverse()
      .filter((record) => {
        const isHidden = hidden.has(record.id);
        const target = this.#projection.hides(record);
        if (target !== undefined) hidden.add(target);
        const text = isHidden ? undefined : this.#projection.text(record);
        return text !== undefined && holds(text);
      });
  }
}

function emptyLog(): MemoryLog {
  return { records: [], seqById: new Map(), headJson: "{}" };
}

/** Whether the log holds this record already. */
function isKnown(log: MemoryLog, record: PreparedRecord): boolean {
  const seq = log.seqById.get(record.id);
  if (seq === undefined) return false;
  for (const stored of between(log, seq - 1, seq)) checkSame(stored, record);
  return true;
}

/** The records with a `seq` greater than `after`, up to and with `until`: fresh copies. */
function between(log: MemoryLog, after: number, until: number): StoredRecord[] {
  const start = Math.max(0, after);
  return log.records
    .slice(start, until)
    .map(({ json }, index) => storedRecord(json, start + index + 1));
}

function isErasedAt(log: MemoryLog, seq: number): boolean {
  return between(log, seq - 1, seq).some(isErased);
}

function headOf(log: MemoryLog): LogHead {
  return JSON.parse(log.headJson) as LogHead;
}
