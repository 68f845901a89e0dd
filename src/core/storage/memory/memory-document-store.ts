import { conflict } from "../../errors.ts";
import type { JsonObject } from "../../json.ts";
import { prepareDocument } from "../batch.ts";
import {
  type DocumentStore,
  documentLimits,
  type StoredDocument,
  type WriteOptions,
} from "../document-store.ts";
import { checkKey } from "../key.ts";

/** As JSON text, so that what is read is always a fresh copy. */
interface MemoryDocument {
  readonly json: string;
  readonly revision: number;
}

/** Documents in a map. */
export class MemoryDocumentStore implements DocumentStore {
  readonly #documents = new Map<string, MemoryDocument>();
  readonly #checkOpen: () => void;

  constructor(checkOpen: () => void) {
    this.#checkOpen = checkOpen;
  }

  async read(
    key: string,
    damageIn?: (value: JsonObject) => string | undefined,
  ): Promise<StoredDocument | undefined> {
    this.#check(key);
    const found = this.#documents.get(key);
    if (found === undefined) return undefined;
    const value = JSON.parse(found.json) as JsonObject;
    if (damageIn?.(value) === undefined) return { value, revision: found.revision };
    this.#documents.delete(key);
    return undefined;
  }

  async write(key: string, value: JsonObject, options?: WriteOptions): Promise<number> {
    this.#checkOpen();
    const { json, expectedRevision } = prepareDocument(key, value, options);
    const current = this.#documents.get(key)?.revision ?? 0;
    if (expectedRevision !== undefined && expectedRevision !== current) {
      throw conflict(`the document is at revision ${current}`);
    }
    this.#documents.set(key, { json, revision: current + 1 });
    return current + 1;
  }

  async delete(key: string): Promise<boolean> {
    this.#check(key);
    return this.#documents.delete(key);
  }

  async forgetCopies(key: string): Promise<void> {
    this.#check(key); // there are no copies
  }

  async keys(): Promise<readonly string[]> {
    this.#checkOpen();
    return [...this.#documents.keys()].sort();
  }

  #check(key: string): void {
    this.#checkOpen();
    checkKey(key, "key", documentLimits.keyBytes);
  }
}
