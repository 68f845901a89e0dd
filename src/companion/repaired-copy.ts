import { isThroughlineError } from "../core/errors.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { DocumentStore } from "../core/storage/document-store.ts";

/** UTF-16 units, of which each takes at most 6 bytes in JSON text: within what a document may hold. */
const longestText = 1024 * 1024;
/** Deeper than anything of ours; `JSON.stringify` itself gives up at some thousands. */
const deepest = 100;

/**
 * Keeps a document as it was found, before another takes its place. What JSON text cannot keep, such
 * as the number 1e999, or what is larger than a document may be, is kept as `{ "text": … }`: its
 * JSON text up to 1 Mi characters, with such numbers as words.
 *
 * @throws ThroughlineError the codes of `DocumentStore.write`, but for `THROUGHLINE_INVALID` and
 *   `THROUGHLINE_TOO_LARGE`: what somebody wrote into a file is not to keep a companion from waking.
 */
export async function keepRepaired(
  documents: DocumentStore,
  key: string,
  value: JsonObject,
): Promise<void> {
  try {
    await documents.write(key, value);
  } catch (error) {
    const isRefused =
      isThroughlineError(error, "THROUGHLINE_INVALID") ||
      isThroughlineError(error, "THROUGHLINE_TOO_LARGE");
    if (!isRefused) throw error;
    const text = JSON.stringify(writable(value, 0)).slice(0, longestText).toWellFormed();
    await documents.write(key, { text });
  }
}

function writable(value: unknown, depth: number): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= deepest) return "…";
  if (Array.isArray(value)) return value.map((item) => writable(item, depth + 1));
  const entries = isJsonObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(entries.map(([name, item]) => [name, writable(item, depth + 1)]));
}
