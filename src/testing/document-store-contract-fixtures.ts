import assert from "node:assert/strict";
import type { JsonObject } from "../core/json.ts";
import type { DocumentStore } from "../core/storage/document-store.ts";
import type { Storage } from "../core/storage/storage.ts";
import type { Clause } from "./contract.ts";

/** The key that a clause uses when it needs only one. */
export const state = "companion";

/** A proof about one fresh collection of documents. */
export function withDocuments(
  proof: (documents: DocumentStore, storage: Storage) => Promise<void>,
): Clause["proof"] {
  return async (open) => {
    await using storage = await open();
    await proof(documentsOf(storage), storage);
  };
}

/** A proof that writes something, closes the storage, and looks at what the next opening finds. */
export function documentsAcrossReopening(
  before: (documents: DocumentStore, storage: Storage) => Promise<void>,
  after: (documents: DocumentStore, storage: Storage) => Promise<void>,
): Pick<Clause, "reopens" | "proof"> {
  return {
    reopens: true,
    async proof(open, reopen) {
      await using storage = await open();
      await before(documentsOf(storage), storage);
      await using again = await reopen(storage);
      await after(documentsOf(again), again);
    },
  };
}

export function documentsOf(storage: Storage, collection = "session"): DocumentStore {
  return storage.documents(collection);
}

/** Asserts that a document holds this value at this revision. */
export async function holds(
  documents: DocumentStore,
  value: JsonObject,
  revision: number,
  key = state,
): Promise<void> {
  assert.deepEqual(await documents.read(key), { value, revision });
}

/** Asserts that nothing of a document is there. */
export async function isGone(documents: DocumentStore, key = state): Promise<void> {
  assert.equal(await documents.read(key), undefined);
  assert.equal((await documents.keys()).includes(key), false);
}
