import {
  checkFileKey,
  checkHash,
  damagedFile,
  type FileStore,
  hashOf,
  prepareFile,
  type StoredFile,
} from "../core/storage/file-store.ts";
import { nameText } from "../core/storage/leases.ts";
import type { Connection } from "./connection.ts";
import type { DriverContext } from "./database.ts";
import { fenced, isFenced, lockLog } from "./locked-log.ts";

const where = "where companion = $1 and collection = $2 and key = $3";

const statements = {
  /** Replaces damaged bytes. */
  put: {
    name: "throughline_file_put",
    text: `insert into throughline.files as old
  (companion, collection, key, sha256, body) values ($1, $2, $3, $4, $5)
  on conflict (companion, collection, key, sha256)
  do update set body = excluded.body where old.body <> excluded.body`,
  },
  get: {
    name: "throughline_file_get",
    text: `select body from throughline.files ${where} and sha256 = $4`,
  },
  list: {
    name: "throughline_file_list",
    text: `select sha256, octet_length(body) as bytes from throughline.files ${where} order by sha256`,
  },
  lock: {
    text: `select sha256 from throughline.files
  ${where} and ($4::text[] is null or sha256 = any($4)) for update`,
  },
  delete: {
    text: `delete from throughline.files ${where} and ($4::text[] is null or sha256 = any($4))`,
  },
  keys: {
    name: "throughline_file_keys",
    text: `select distinct key from throughline.files
  where companion = $1 and collection = $2 and key > $3 order by key limit 1000`,
  },
} as const;

/** Files in rows. */
export class PostgresFileStore implements FileStore {
  readonly #context: DriverContext;
  readonly #collection: string;

  constructor(context: DriverContext, collection: string) {
    this.#context = context;
    this.#collection = collection;
  }

  async put(key: string, bytes: Uint8Array): Promise<string> {
    this.#context.calls.checkOpen();
    const hash = prepareFile(key, bytes);
    const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    await this.#change(key, async (connection) => {
      await connection.run({ ...statements.put, values: [...this.#place(key), hash, body] });
    });
    return hash;
  }

  async get(key: string, sha256: string): Promise<Uint8Array | undefined> {
    this.#check(key);
    checkHash(sha256);
    const values = [...this.#place(key), sha256];
    const [row] = await this.#query({ ...statements.get, values });
    if (row === undefined) return undefined;
    const bytes = row["body"] as Buffer;
    if (hashOf(bytes) !== sha256) throw damagedFile(key, sha256);
    return bytes;
  }

  async list(key: string): Promise<readonly StoredFile[]> {
    this.#check(key);
    const rows = await this.#query({ ...statements.list, values: [...this.#place(key)] });
    return rows.map((row) => ({ sha256: String(row["sha256"]), bytes: Number(row["bytes"]) }));
  }

  async delete(key: string, sha256s?: readonly string[]): Promise<number> {
    this.#check(key);
    for (const hash of sha256s ?? []) checkHash(hash);
    const values = [...this.#place(key), sha256s ?? null];
    const removed = new Set<string>();
    await this.#change(key, async (connection) => {
      // An earlier attempt may have deleted them, its answer lost.
      for (const row of await connection.run({ ...statements.lock, values })) {
        removed.add(String(row["sha256"]));
      }
      await connection.run({ ...statements.delete, values });
    });
    return removed.size;
  }

  async *keys(): AsyncGenerator<string> {
    for (let after: string | undefined = ""; after !== undefined; ) {
      this.#context.calls.checkOpen();
      const values: unknown[] = [this.#context.companion, this.#collection, after];
      const rows = await this.#query({ ...statements.keys, values });
      const keys = rows.map((row) => String(row["key"]));
      yield* keys;
      after = keys.at(-1);
    }
  }

  #query(statement: { readonly name: string; readonly text: string; readonly values: unknown[] }) {
    return this.#context.calls.run(() => this.#context.database.query(statement));
  }

  /** One transaction. What lost the log to another process, which may have forgotten it, changes nothing. */
  #change(key: string, work: (connection: Connection) => Promise<void>): Promise<void> {
    const epoch = this.#context.epochs.get(nameText({ collection: this.#collection, key }));
    const place = this.#place(key);
    const change = () =>
      this.#context.database.transaction(async (connection) => {
        const isLost =
          epoch !== undefined && isFenced({ place, epoch }, await lockLog(connection, place));
        if (isLost) throw fenced();
        await work(connection);
      });
    return this.#context.calls.inOrder(JSON.stringify(["files", this.#collection, key]), change);
  }

  #place(key: string): readonly [companion: string, collection: string, key: string] {
    return [this.#context.companion, this.#collection, key];
  }

  #check(key: string): void {
    this.#context.calls.checkOpen();
    checkFileKey(key);
  }
}
