import type { DocumentStore } from "../../src/core/storage/document-store.ts";
import type { FileStore } from "../../src/core/storage/file-store.ts";
import type { LogStore } from "../../src/core/storage/log-store.ts";
import type { Storage } from "../../src/core/storage/storage.ts";

/** What a process ends with that is killed at a write. */
export class Stopped extends Error {
  override readonly name = "Stopped";
}

/** Counts writes, and stops before or after one of them. */
export interface StopAt {
  /** From 1; 0 never stops. */
  readonly write: number;
  readonly when: "before" | "after";
}

/** A storage whose user is killed at one of its writes. For tests. */
export function stoppingStorage(storage: Storage, { write, when }: StopAt): Storage {
  let writes = 0;
  const watched = <A extends readonly unknown[], R>(call: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      writes++;
      if (write > 0 && (writes > write || (writes === write && when === "before"))) {
        throw new Stopped();
      }
      const result = await call(...args);
      if (writes === write) throw new Stopped();
      return result;
    };
  };
  const logs = (store: LogStore): LogStore => ({
    append: watched((...args) => store.append(...args)),
    erase: watched((...args) => store.erase(...args)),
    delete: watched((key) => store.delete(key)),
    tail: (...args) => store.tail(...args),
    page: (...args) => store.page(...args),
    read: (...args) => store.read(...args),
    find: (...args) => store.find(...args),
    findAll: (...args) => store.findAll(...args),
    list: (options) => store.list(options),
    search: (...args) => store.search(...args),
  });
  const documents = (store: DocumentStore): DocumentStore => ({
    read: (...args) => store.read(...args),
    write: watched((...args) => store.write(...args)),
    delete: watched((key) => store.delete(key)),
    forgetCopies: (key) => store.forgetCopies(key), // no write: nothing is stored by it
    keys: () => store.keys(),
  });
  const files = (store: FileStore): FileStore => ({
    put: watched((...args) => store.put(...args)),
    delete: watched((...args) => store.delete(...args)),
    get: (...args) => store.get(...args),
    list: (key) => store.list(key),
    keys: () => store.keys(),
  });
  const close = async () => undefined;
  return {
    leases: storage.leases,
    cluster: storage.cluster,
    logs: (collection, projection) => logs(storage.logs(collection, projection)),
    documents: (collection) => documents(storage.documents(collection)),
    files: (collection) => files(storage.files(collection)),
    ready: () => storage.ready(),
    repairs: () => storage.repairs(),
    onRepair: (listener) => storage.onRepair(listener),
    ...{ close, [Symbol.asyncDispose]: close },
  };
}
