import { ThroughlineError } from "../../errors.ts";
import type { Cluster } from "../cluster.ts";
import type { DocumentStore } from "../document-store.ts";
import type { FileStore } from "../file-store.ts";
import type { Leases } from "../leases.ts";
import type { LogProjection, LogStore } from "../log-store.ts";
import { LocalCluster, LocalLeases } from "../one-process.ts";
import type { RepairReport, Storage } from "../storage.ts";
import { MemoryCluster, type MemoryClusterOptions } from "./memory-cluster.ts";
import { MemoryDocumentStore } from "./memory-document-store.ts";
import { MemoryFileStore } from "./memory-file-store.ts";
import { MemoryLogStore } from "./memory-log-store.ts";
import { MemoryPlace } from "./memory-place.ts";

/**
 * A storage that keeps nothing past `close()`: for tests, and for companions that keep nothing. With
 * a `place`, one of several storages that write it like processes of one database; what is stored
 * then lives as long as the place.
 */
export function openMemoryStorage(options?: MemoryClusterOptions): Storage {
  return new MemoryStorage(options?.place, options && new MemoryCluster(options));
}

/** Everything in plain maps. Whatever a call stores, it stores before it returns its promise. */
class MemoryStorage implements Storage {
  readonly cluster: Cluster;
  readonly leases: Leases & { close(): void | Promise<void> };
  readonly #place: MemoryPlace;
  readonly #shared: MemoryCluster | undefined;
  readonly #logs = new Map<string, MemoryLogStore>();
  readonly #documents = new Map<string, MemoryDocumentStore>();
  #closed = false;

  constructor(place = new MemoryPlace(), shared?: MemoryCluster) {
    this.#place = place;
    this.#shared = shared;
    this.cluster = shared ?? new LocalCluster();
    this.leases = shared?.leases ?? new LocalLeases();
  }

  /** The first projection given for a collection is the one that holds. */
  logs(collection: string, projection: LogProjection): LogStore {
    const known = this.#logs.get(collection);
    if (known !== undefined) return known;
    const store = new MemoryLogStore(projection, () => this.#checkOpen(), {
      logs: this.#place.logs(collection),
      checkFence: (key) => this.#checkFence(collection, key),
    });
    this.#logs.set(collection, store);
    return store;
  }

  documents(collection: string): DocumentStore {
    const known = this.#documents.get(collection);
    if (known !== undefined) return known;
    const documents = this.#place.documents(collection);
    const store = new MemoryDocumentStore(documents, () => this.#checkOpen());
    this.#documents.set(collection, store);
    return store;
  }

  files(collection: string): FileStore {
    return new MemoryFileStore(this.#place.files(collection), () => this.#checkOpen(), {
      checkFence: (key) => this.#checkFence(collection, key),
    });
  }

  /** None: memory is never found damaged. */
  repairs(): readonly RepairReport[] {
    return [];
  }

  onRepair(): () => void {
    return () => undefined;
  }

  async ready(): Promise<void> {
    this.#checkOpen();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await (this.#shared ?? this.leases).close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkFence(collection: string, key: string): void {
    if (this.#shared === undefined || this.#shared.mayWrite(collection, key)) return;
    const code = "THROUGHLINE_FENCED";
    throw new ThroughlineError("another process took this log over", { code });
  }

  #checkOpen(): void {
    if (this.#closed) {
      throw new ThroughlineError("the memory storage is closed", { code: "THROUGHLINE_CLOSED" });
    }
  }
}
