import { ThroughlineError } from "../../errors.ts";
import type { DocumentStore } from "../document-store.ts";
import type { Fleet } from "../fleet.ts";
import type { LogProjection, LogStore } from "../log-store.ts";
import type { RepairReport, Storage } from "../storage.ts";
import { MemoryDocumentStore } from "./memory-document-store.ts";
import { MemoryFleet, type MemoryFleetOptions } from "./memory-fleet.ts";
import { MemoryLogStore } from "./memory-log-store.ts";
import { MemoryPlace } from "./memory-place.ts";

/**
 * A storage that keeps nothing past `close()`: for tests, and for companions that keep nothing. With
 * a `place`, one of several storages that write it like processes of one database; what is stored
 * then lives as long as the place.
 */
export function openMemoryStorage(): Storage;
export function openMemoryStorage(options: MemoryFleetOptions): Storage & { readonly fleet: Fleet };
export function openMemoryStorage(options?: MemoryFleetOptions): Storage {
  return options === undefined ? new MemoryStorage() : new SharedMemoryStorage(options);
}

/** Both shapes in plain maps. Whatever a call stores, it stores before it returns its promise. */
class MemoryStorage implements Storage {
  readonly #place: MemoryPlace;
  readonly #logs = new Map<string, MemoryLogStore>();
  readonly #documents = new Map<string, MemoryDocumentStore>();
  #closed = false;

  constructor(place = new MemoryPlace()) {
    this.#place = place;
  }

  /** The first projection given for a collection is the one that holds. */
  logs(collection: string, projection: LogProjection): LogStore {
    const known = this.#logs.get(collection);
    if (known !== undefined) return known;
    const store = new MemoryLogStore(projection, () => this.#checkOpen(), {
      logs: this.#place.logs(collection),
      checkFence: (key) => this.checkFence(collection, key),
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

  close(): Promise<void> {
    this.#closed = true;
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Nobody else writes this place. */
  protected checkFence(_collection: string, _key: string): void {}

  #checkOpen(): void {
    if (this.#closed) {
      throw new ThroughlineError("the memory storage is closed", { code: "THROUGHLINE_CLOSED" });
    }
  }
}

/** One of several storages of a place. */
class SharedMemoryStorage extends MemoryStorage {
  readonly fleet: MemoryFleet;

  constructor(options: MemoryFleetOptions) {
    super(options.place);
    this.fleet = new MemoryFleet(options);
  }

  override async close(): Promise<void> {
    await super.close();
    await this.fleet.close();
  }

  protected override checkFence(collection: string, key: string): void {
    if (this.fleet.mayWrite(collection, key)) return;
    throw new ThroughlineError("another process took this log over", {
      code: "THROUGHLINE_FENCED",
    });
  }
}
