import { createHash } from "node:crypto";
import type { JsonObject } from "../../core/json.ts";
import type { Storage } from "../../core/storage/storage.ts";
import type { MoveNotes } from "./move-notes.ts";
import { documentPlaces } from "./places.ts";

/** A document that both storages may have. */
interface DocumentPair {
  readonly collection: string;
  readonly key: string;
  readonly given: JsonObject | undefined;
  readonly own: { readonly value: JsonObject; readonly revision: number } | undefined;
}

/** Every document that either storage has, one at a time. */
async function* everyDocument(
  from: Storage,
  to: Storage,
  signal: AbortSignal | undefined,
): AsyncGenerator<DocumentPair> {
  for (const collection of documentPlaces) {
    const source = from.documents(collection);
    const target = to.documents(collection);
    const keys = new Set([...(await source.keys()), ...(await target.keys())]);
    for (const key of keys) {
      signal?.throwIfAborted();
      const given = (await source.read(key))?.value;
      yield { collection, key, given, own: await target.read(key) };
    }
  }
}

/** The names of the target's documents that are no copies: neither the source's nor an earlier one. */
export async function foreignDocuments(
  from: Storage,
  to: Storage,
  notes: MoveNotes,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const foreign: string[] = [];
  for await (const { collection, key, given, own } of everyDocument(from, to, signal)) {
    if (own === undefined || isSame(given, own.value)) continue;
    if (!notes.wrote(sha256(own.value))) foreign.push(`${collection}/${key}`);
  }
  return foreign;
}

/** Gives the target the documents that the source has, and takes from it earlier copies of others. */
export async function copyDocuments(
  from: Storage,
  to: Storage,
  notes: MoveNotes,
  signal?: AbortSignal,
): Promise<void> {
  for await (const { collection, key, given, own } of everyDocument(from, to, signal)) {
    const target = to.documents(collection);
    if (given === undefined) {
      await target.delete(key);
      continue;
    }
    if (!isSame(given, own?.value)) {
      await notes.document(`${collection}/${key}`, sha256(given));
      await target.write(key, given, { expectedRevision: own?.revision ?? 0 });
    }
    // The one before it, perhaps of a copy that was killed here, may hold words forgotten since.
    await target.forgetCopies(key);
  }
}

/** How many documents are equal in both, and the names of those that are not. */
export async function compareDocuments(
  from: Storage,
  to: Storage,
  signal?: AbortSignal,
): Promise<{ readonly same: number; readonly other: readonly string[]; readonly sha256: string }> {
  const hash = createHash("sha256");
  const other: string[] = [];
  let same = 0;
  for await (const { collection, key, given, own } of everyDocument(from, to, signal)) {
    if (given !== undefined && isSame(given, own?.value)) same++;
    else other.push(`${collection}/${key}`);
    hash.update(`${JSON.stringify([collection, key, sha256(given ?? {})])}\n`);
  }
  return { same, other, sha256: hash.digest("hex") };
}

function isSame(a: JsonObject | undefined, b: JsonObject | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function sha256(value: JsonObject): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}
