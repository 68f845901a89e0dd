import {
  checkIds,
  checkList,
  checkPage,
  checkRead,
  checkSearch,
  checkTail,
  listCursor,
  parseCursor,
  prepareErasure,
  storedRecord,
} from "../core/storage/batch.ts";
import { checkKey } from "../core/storage/key.ts";
import { nameText } from "../core/storage/leases.ts";
import {
  type AppendOptions,
  type EraseOptions,
  type ListOptions,
  type ListPage,
  type LogHead,
  type LogProjection,
  type LogRecord,
  type LogRow,
  type LogStore,
  type LogTail,
  logLimits,
  type PageOptions,
  type SearchHit,
  type SearchOptions,
  type StoredRecord,
} from "../core/storage/log-store.ts";
import { endsOpen, holdsEvery, queryPhrases, searchTokens } from "../core/storage/search-words.ts";
import { AppendGroups } from "./append-groups.ts";
import type { Database, DriverContext } from "./database.ts";
import { deleteLog, eraseRecords } from "./forget.ts";
import { type Indexing, indexBatch, indexHead, labelText } from "./indexed-batch.ts";
import { listStatement, searchLog, searchNewest, searchStatement } from "./list-statements.ts";
import type { LogTarget } from "./locked-log.ts";
import { logStatements as statements } from "./log-statements.ts";
import type { PostgresStatement, Row } from "./pool.ts";
import { anywhereQueryOf, queryOf, scopeOf } from "./words.ts";

/** Reading takes so many bytes of JSON at a time, or one record. */
const chunkBytes = 1024 * 1024;

/** The logs of one collection of a companion, and how their records are read. */
interface IndexedPlace extends Indexing {
  readonly database: Database;
  readonly companion: string;
  readonly collection: string;
}

/** Logs in rows: one for the log, one for each record, with the exact JSON text. */
export class PostgresLogStore implements LogStore {
  readonly #context: DriverContext;
  readonly #collection: string;
  readonly #indexing: IndexedPlace;
  readonly #appends: AppendGroups;
  /** What the keys of this collection begin with where calls are put in order. */
  readonly #collectionKey: string;

  constructor(context: DriverContext, collection: string, projection: LogProjection) {
    this.#context = context;
    this.#collection = collection;
    this.#collectionKey = JSON.stringify(["logs", collection]);
    const { database, companion } = context;
    const scope = scopeOf(companion, collection);
    this.#indexing = { database, companion, collection, projection, scope };
    this.#appends = new AppendGroups(context, collection);
  }

  async append(
    key: string,
    records: readonly LogRecord[],
    options?: AppendOptions,
  ): Promise<number> {
    this.#context.calls.checkOpen();
    const batch = indexBatch(this.#indexing, key, records, options);
    const target = this.#target(key);
    return this.#inOrder(key, () => this.#appends.append({ target, batch }));
  }

  async tail(key: string, limit: number): Promise<LogTail | undefined> {
    checkTail(key, limit);
    const [first, ...rows] = await this.#query(statements.tail, [
      ...this.#place(key),
      limit,
      logLimits.pageBytes,
    ]);
    if (first === undefined || first["part"] !== 0) return undefined;
    const head = JSON.parse(String(first["body"])) as LogHead;
    return { seq: Number(first["seq"]), head, records: rows.map(recordOf), damaged: false };
  }

  async page(key: string, options: PageOptions): Promise<readonly StoredRecord[]> {
    checkPage(key, options);
    const { before = Number.MAX_SAFE_INTEGER, after, limit } = options;
    const statement = after === undefined ? statements.pageBefore : statements.pageAfter;
    const values = [...this.#place(key), after ?? before, limit, logLimits.pageBytes];
    const rows = await this.#query(statement, values);
    return rows.map(recordOf);
  }

  async *read(
    key: string,
    options: { readonly after?: number } = {},
  ): AsyncGenerator<StoredRecord, void, undefined> {
    let after = options.after === undefined ? 0 : options.after;
    checkRead(key, after);
    const place = this.#place(key);
    const [log] = await this.#query(statements.extent, place);
    const end = Number(log?.["seq"] ?? 0);
    while (after < end) {
      const values = [...place, after, end, chunkBytes, log?.["born"]];
      const rows = await this.#query(statements.chunk, values);
      if (rows.length === 0) return; // forgotten since
      for (const row of rows) {
        yield recordOf(row);
        after = Number(row["seq"]);
      }
    }
  }

  async find(key: string, id: string): Promise<StoredRecord | undefined> {
    return (await this.findAll(key, [id])).get(id);
  }

  async findAll(key: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredRecord>> {
    checkIds(key, ids);
    const rows = await this.#query(statements.known, [...this.#place(key), ids]);
    return new Map(rows.map(recordOf).map((record) => [record.id, record]));
  }

  async erase(key: string, ids: readonly string[], options?: EraseOptions): Promise<number> {
    this.#context.calls.checkOpen();
    const { headJson, ...erasure } = prepareErasure(key, ids, options);
    const indexing = this.#indexing;
    const head = headJson === undefined ? undefined : indexHead(indexing.projection, headJson);
    const target = this.#target(key);
    let erased = 0;
    return this.#inOrder(key, () =>
      this.#context.database.transaction(async (connection) => {
        // An earlier attempt may have erased them, its answer lost: then nothing is left to erase.
        const what = { ...erasure, head, indexing, erasedBefore: erased };
        erased = Math.max(erased, await eraseRecords(connection, target, what));
        return erased;
      }),
    );
  }

  async delete(key: string): Promise<boolean> {
    this.#context.calls.checkOpen();
    checkKey(key, "key", logLimits.keyBytes);
    const target = this.#target(key);
    let existed = false;
    return this.#inOrder(key, () =>
      this.#context.database.transaction(async (connection, attempt) => {
        if (await deleteLog(connection, target, attempt)) existed = true;
        return existed;
      }),
    );
  }

  async list(options: ListOptions): Promise<ListPage> {
    checkList(options);
    const { limit, cursor, label } = options;
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    const given = { label: label !== undefined, place: after !== undefined };
    const found = await this.#query(listStatement(given), [
      this.#context.companion,
      this.#collection,
      limit + 1, // one more than asked for tells whether there is a next page
      ...(label === undefined ? [] : [labelText(label)]),
      ...(after === undefined ? [] : [after.sortedAt, after.key]),
    ]);
    const rows = found.slice(0, limit);
    const last = found.length > limit ? rows.at(-1) : undefined;
    if (last === undefined) return { rows: rows.map(rowOf) };
    const end = { sortedAt: String(last["sorted_at"]), key: String(last["key"]) };
    return { rows: rows.map(rowOf), cursor: listCursor(end) };
  }

  async search(query: string, options: SearchOptions): Promise<readonly SearchHit[]> {
    this.#context.calls.checkOpen();
    checkSearch(query, options);
    return this.#context.calls.run(() => search(this.#indexing, query, options));
  }

  async #query(
    statement: { readonly name?: string; readonly text: string },
    values: unknown[],
  ): Promise<readonly Row[]> {
    const { calls, database } = this.#context;
    calls.checkOpen();
    return calls.run(() => database.query({ ...statement, values }));
  }

  #inOrder<T>(key: string, call: () => Promise<T>): Promise<T> {
    return this.#context.calls.inOrder(this.#collectionKey + key, call);
  }

  #target(key: string): LogTarget {
    const epoch = this.#context.epochs.get(nameText({ collection: this.#collection, key }));
    return { place: [this.#context.companion, this.#collection, key], epoch };
  }

  #place(key: string): unknown[] {
    return [this.#context.companion, this.#collection, key];
  }
}

function recordOf(row: Row): StoredRecord {
  return storedRecord(String(row["body"]), Number(row["seq"]));
}

function rowOf(row: Row): LogRow {
  const head = JSON.parse(String(row["head"])) as LogHead;
  return { key: String(row["key"]), seq: Number(row["seq"]), head, damaged: false };
}

/** Candidates of one page; more than most callers ask for, because some do not hold the phrase. */
const fewestCandidates = 50;

/**
 * Finds candidates through the full-text index, and decides by their text. Looks through the newest logs first, whose order is known; then through all.
 */
async function search(
  searched: IndexedPlace,
  query: string,
  { limit, key, prefix }: SearchOptions,
): Promise<readonly SearchHit[]> {
  const phrases = queryPhrases(query);
  if (phrases.length === 0) return [];
  const isOpen = endsOpen(query, prefix);
  const { database, companion, collection, scope } = searched;
  const holds = ({ record }: SearchHit) => {
    const text = searched.projection.text(record);
    return text !== undefined && holdsEvery(searchTokens(text), phrases, isOpen);
  };
  let count = Math.max(limit, fewestCandidates);
  if (key === undefined) {
    const values = [companion, collection, count, scope, anywhereQueryOf(phrases, isOpen)];
    const rows = await database.query({ ...searchNewest, values });
    const hits = rows.map(hitOf).filter(holds);
    if (hits.length >= limit) return hits.slice(0, limit);
  }
  const hits: SearchHit[] = [];
  let last: Row | undefined;
  for (;;) {
    const values = [companion, collection, count, queryOf({ phrases, isOpen }, scope, key)];
    const rows = await database.query(candidates(values, key, last));
    hits.push(...rows.map(hitOf).filter(holds));
    last = rows.at(-1);
    if (hits.length >= limit || rows.length < count) return hits.slice(0, limit);
    count = Math.min(1_000, count * 2);
  }
}

/** The statement for the candidates after this one. */
function candidates(
  values: readonly unknown[],
  key: string | undefined,
  last: Row | undefined,
): PostgresStatement {
  if (key !== undefined) {
    return { ...searchLog, values: [...values, key, last?.["seq"] ?? Number.MAX_SAFE_INTEGER] };
  }
  const place = last === undefined ? [] : [last["sorted_at"], last["key"], last["seq"]];
  return { ...searchStatement({ place: last !== undefined }), values: [...values, ...place] };
}

function hitOf(row: Row): SearchHit {
  const record = storedRecord(String(row["body"]), Number(row["seq"]));
  return { key: String(row["key"]), record };
}
