import { closed } from "../../errors.ts";
import { LocalCluster, LocalLeases } from "../one-process.ts";
import type { Storage } from "../storage.ts";
import { MemoryDocumentStore } from "./memory-document-store.ts";
import { MemoryFileStore } from "./memory-file-store.ts";
import { MemoryLogStore } from "./memory-log-store.ts";

/**
 * Opens a storage in plain maps, which keeps nothing past `close()`: for tests, and for companions that keep
 * nothing. Whatever a call stores, it stores before it returns its promise.
 */
export function openMemoryStorage(): Storage {
  const logs = new Map<string, MemoryLogStore>();
  const documents = new Map<string, MemoryDocumentStore>();
  const files = new Map<string, MemoryFileStore>();
  const leases = new LocalLeases();
  let isClosed = false;
  const checkOpen = () => {
    if (!isClosed) return;
    throw closed("the memory storage is closed");
  };
  const close = async () => {
    isClosed = true;
    leases.close();
  };
  return {
    cluster: new LocalCluster(),
    leases,
    // The first projection given for a collection is the one that holds.
    logs: (name, projection) => once(logs, name, () => new MemoryLogStore(projection, checkOpen)),
    documents: (name) => once(documents, name, () => new MemoryDocumentStore(checkOpen)),
    files: (name) => once(files, name, () => new MemoryFileStore(checkOpen)),
    ready: async () => checkOpen(),
    repairs: () => [], // memory is never found damaged
    onRepair: () => () => undefined,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function once<T>(made: Map<string, T>, name: string, make: () => T): T {
  const known = made.get(name) ?? make();
  made.set(name, known);
  return known;
}
