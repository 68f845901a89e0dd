import { conflict, outcomeUnknown } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { type PreparedDocument, prepareDocument } from "../core/storage/batch.ts";
import {
  type DocumentStore,
  documentLimits,
  type StoredDocument,
  type WriteOptions,
} from "../core/storage/document-store.ts";
import { checkKey } from "../core/storage/key.ts";
import type { Connection } from "./connection.ts";
import type { DriverContext } from "./database.ts";

const where = "where companion = $1 and collection = $2 and key = $3";

const statements = {
  read: {
    name: "throughline_document_read",
    text: `select body, revision from throughline.documents ${where}`,
  },
  /** Whether a write with this id was the last one. */
  settle: { text: `select revision, write_id from throughline.documents ${where}` },
  /** 6: whether it must not be there. */
  write: {
    name: "throughline_document_write",
    text: `insert into throughline.documents as old
  (companion, collection, key, body, revision, write_id) values ($1, $2, $3, $4, 1, $5)
  on conflict (companion, collection, key) do update
  set body = excluded.body, revision = old.revision + 1, write_id = excluded.write_id where not $6
  returning revision`,
  },
  replace: {
    name: "throughline_document_replace",
    text: `update throughline.documents set body = $4, revision = revision + 1, write_id = $5
  ${where} and revision = $6 returning revision`,
  },
  /** In one statement: a server that has written it since keeps what it wrote. */
  setAside: {
    text: `with damaged as (delete from throughline.documents ${where} and revision = $4 returning *)
  insert into throughline.documents (companion, collection, key, body, revision, write_id)
  select companion, $5, $6, body, revision, write_id from damaged
  on conflict (companion, collection, key) do update set body = excluded.body`,
  },
  lock: { text: `select revision from throughline.documents ${where} for update` },
  delete: { text: `delete from throughline.documents ${where}` },
  keys: {
    name: "throughline_document_keys",
    text: "select key from throughline.documents where companion = $1 and collection = $2",
  },
} as const;

/** The collection of documents that were set aside. */
const quarantine = "quarantine";

/** Documents in rows, as exact JSON text. */
export class PostgresDocumentStore implements DocumentStore {
  readonly #context: DriverContext;
  readonly #collection: string;

  constructor(context: DriverContext, collection: string) {
    this.#context = context;
    this.#collection = collection;
  }

  async read(
    key: string,
    damageIn?: (value: JsonObject) => string | undefined,
  ): Promise<StoredDocument | undefined> {
    this.#check(key);
    const stored = await this.#context.calls.run(async () => {
      const [row] = await this.#context.database.query({
        ...statements.read,
        values: this.#place(key),
      });
      if (row === undefined) return undefined;
      const value = JSON.parse(String(row["body"])) as JsonObject;
      return { value, revision: Number(row["revision"]) };
    });
    if (stored === undefined || damageIn?.(stored.value) === undefined) return stored;
    const values = [...this.#place(key), stored.revision, ...this.#asidePlace(key)];
    await this.#inOrder(key, () =>
      this.#context.database.transaction((connection) => {
        return connection.run({ ...statements.setAside, values });
      }),
    );
    return this.read(key, damageIn); // what another server wrote since, if it did
  }

  async write(key: string, value: JsonObject, options?: WriteOptions): Promise<number> {
    this.#context.calls.checkOpen();
    const prepared = prepareDocument(key, value, options);
    const writeId = this.#context.newId();
    return this.#inOrder(key, () =>
      this.#context.database.attempt(async (connection, { isInDoubt }) => {
        const stored = isInDoubt ? await this.#settle(connection, prepared, writeId) : undefined;
        return stored ?? (await this.#write(connection, prepared, writeId));
      }),
    );
  }

  async delete(key: string): Promise<boolean> {
    this.#check(key);
    let existed = false;
    return this.#inOrder(key, () =>
      this.#context.database.transaction(async (connection) => {
        const values = this.#place(key);
        const [row] = await connection.run({ ...statements.lock, values });
        // An earlier attempt may have deleted it, its answer lost.
        existed ||= row !== undefined;
        await connection.run({ ...statements.delete, values });
        await this.#forgetSetAside(connection, key);
        return existed;
      }),
    );
  }

  async forgetCopies(key: string): Promise<void> {
    this.#check(key);
    await this.#inOrder(key, () =>
      this.#context.database.transaction((connection) => this.#forgetSetAside(connection, key)),
    );
  }

  async keys(): Promise<readonly string[]> {
    this.#context.calls.checkOpen();
    return this.#context.calls.run(async () => {
      const values = [this.#context.companion, this.#collection];
      const rows = await this.#context.database.query({ ...statements.keys, values });
      return rows.map((row) => String(row["key"])).sort();
    });
  }

  async #write(
    connection: Connection,
    { key, json, expectedRevision }: PreparedDocument,
    writeId: string,
  ): Promise<number> {
    const values = [...this.#place(key), json, writeId];
    const statement = expectedRevision
      ? { ...statements.replace, values: [...values, expectedRevision] }
      : { ...statements.write, values: [...values, expectedRevision === 0] };
    const { rows } = await connection.store(statement);
    const [row] = rows;
    if (row === undefined) throw conflict("the document is at another revision");
    return Number(row["revision"]);
  }

  /**
   * The revision that an earlier attempt stored; `undefined` if it stored nothing.
   *
   * @throws ThroughlineError `THROUGHLINE_OUTCOME_UNKNOWN`: others wrote since, perhaps over it.
   */
  async #settle(
    connection: Connection,
    { key, expectedRevision }: PreparedDocument,
    writeId: string,
  ): Promise<number | undefined> {
    const [row] = await connection.run({ ...statements.settle, values: this.#place(key) });
    const revision = Number(row?.["revision"] ?? 0);
    if (row?.["write_id"] === writeId) return revision;
    if (expectedRevision === undefined || revision <= expectedRevision + 1) return undefined;
    throw outcomeUnknown("the document was written by others since");
  }

  #inOrder<T>(key: string, call: () => Promise<T>): Promise<T> {
    return this.#context.calls.inOrder(JSON.stringify(["documents", this.#collection, key]), call);
  }

  async #forgetSetAside(connection: Connection, key: string): Promise<void> {
    const values = [this.#context.companion, ...this.#asidePlace(key)];
    await connection.run({ ...statements.delete, values });
  }

  #place(key: string): unknown[] {
    return [this.#context.companion, this.#collection, key];
  }

  #asidePlace(key: string): unknown[] {
    return [quarantine, `${this.#collection}/${key}`];
  }

  #check(key: string): void {
    this.#context.calls.checkOpen();
    checkKey(key, "key", documentLimits.keyBytes);
  }
}
