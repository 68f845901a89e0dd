import { ThroughlineError } from "../../errors.ts";
import type { DocumentStore } from "../document-store.ts";
import type { LogProjection, LogStore } from "../log-store.ts";
import type { RepairReport, Storage } from "../storage.ts";
import { MemoryDocumentStore } from "./memory-document-store.ts";
import { MemoryLogStore } from "./memory-log-store.ts";

/** A storage that keeps nothing past `close()`: for tests, and for companions that keep nothing. */
export function openMemoryStorage(): Storage {
  return new MemoryStorage();
}

/** Both shapes in plain maps. Whatever a call stores, it stores before it returns its promise. */
export class MemoryStorage implements Storage {
  readonly #logs = new Map<string, MemoryLogStore>();
  readonly #documents = new Map<string, MemoryDocumentStore>();
  #closed = false;

  /** The first projection given for a collection is the one that holds. */
  logs(collection: string, projection: LogProjection): LogStore {
    const known = this.#logs.get(collection);
    if (known !== undefined) return known;
    const store = new MemoryLogStore(projection, () => this.#checkOpen());
    this.#logs.set(collection, store);
    return store;
  }

  documents(collection: string): DocumentStore {
    const known = this.#documents.get(collection);
    if (known !== undefined) return known;
    const store = new MemoryDocumentStore(() => this.#checkOpen());
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

  close(): Promise<void> {
    this.#closed = true;
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.#closed) {
      throw new ThroughlineError("the memory storage is closed", { code: "THROUGHLINE_CLOSED" });
    }
  }
}
