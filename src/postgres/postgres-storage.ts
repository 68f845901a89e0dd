import { unavailable } from "../core/errors.ts";
import type { DocumentStore } from "../core/storage/document-store.ts";
import type { FileStore } from "../core/storage/file-store.ts";
import { checkKey } from "../core/storage/key.ts";
import type { Leases } from "../core/storage/leases.ts";
import type { LogProjection, LogStore } from "../core/storage/log-store.ts";
import type { RepairReport, Storage } from "../core/storage/storage.ts";
import type { DriverContext } from "./database.ts";
import type { PostgresCluster } from "./postgres-cluster.ts";
import { PostgresDocumentStore } from "./postgres-document-store.ts";
import { PostgresFileStore } from "./postgres-file-store.ts";
import { PostgresLogStore } from "./postgres-log-store.ts";

/** Names of companions and collections have at most so many bytes: they stand in every index. */
export const longestName = 200;

/** Logs, documents and files in one database, beside those of other companions. */
export class PostgresStorage implements Storage {
  readonly cluster: PostgresCluster;
  readonly leases: Leases;
  readonly #context: DriverContext;
  readonly #logs = new Map<string, PostgresLogStore>();
  #closing: Promise<void> | undefined;

  constructor(context: DriverContext, cluster: PostgresCluster) {
    this.#context = context;
    this.cluster = cluster;
    this.leases = cluster.leases;
  }

  /** The first projection given for a collection is the one that holds. */
  logs(collection: string, projection: LogProjection): LogStore {
    const known = this.#logs.get(collection);
    if (known !== undefined) return known;
    checkCollection(collection);
    const store = new PostgresLogStore(this.#context, collection, projection);
    this.#logs.set(collection, store);
    return store;
  }

  documents(collection: string): DocumentStore {
    checkCollection(collection);
    return new PostgresDocumentStore(this.#context, collection);
  }

  files(collection: string): FileStore {
    checkCollection(collection);
    return new PostgresFileStore(this.#context, collection);
  }

  /** Asks the primary. */
  async ready(): Promise<void> {
    this.#context.calls.checkOpen();
    let isReadOnly: unknown;
    try {
      const text = "select current_setting('transaction_read_only') = 'on' as is_read_only";
      const [row] = await this.#context.calls.run(() => this.#context.database.query({ text }));
      isReadOnly = row?.["is_read_only"];
    } catch (cause) {
      throw unavailable("the database does not answer", cause);
    }
    if (isReadOnly === true) throw unavailable("the database takes no writes");
  }

  figures() {
    const { database } = this.#context;
    const { leases, missed } = this.cluster;
    const { totalCount = 0, idleCount = 0, waitingCount = 0 } = database.pool;
    return {
      postgres_connections: totalCount,
      postgres_idle_connections: idleCount,
      postgres_waiting_calls: waitingCount,
      postgres_retries_total: database.counts.retries,
      postgres_fenced_total: database.counts.fenced,
      postgres_missed_notifications_total: missed,
      leases: leases.held,
      lease_waits_total: leases.waits,
    };
  }

  /** None: the database repairs itself, and says so in its own log. */
  repairs(): readonly RepairReport[] {
    return [];
  }

  onRepair(): () => void {
    return () => undefined;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await this.#context.calls.close();
    await this.cluster.close();
  }
}

/** The collection `""` is that of the companion itself: its runs and its moods. */
function checkCollection(collection: string): void {
  if (collection !== "") checkKey(collection, "collection", longestName);
}
