import type { Storage } from "../../src/core/storage/storage.ts";

/** A storage that its users cannot close: the next one goes on where the last one left off. */
export function kept(storage: Storage): Storage {
  const close = () => Promise.resolve();
  return {
    leases: storage.leases,
    cluster: storage.cluster,
    logs: (collection, projection) => storage.logs(collection, projection),
    documents: (collection) => storage.documents(collection),
    files: (collection) => storage.files(collection),
    ready: () => storage.ready(),
    repairs: () => storage.repairs(),
    onRepair: (listener) => storage.onRepair(listener),
    ...{ close, [Symbol.asyncDispose]: close },
  };
}
