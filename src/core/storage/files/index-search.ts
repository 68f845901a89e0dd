import type { SearchOptions } from "../log-store.ts";
import { endsOpen, queryPhrases } from "../search-words.ts";
import type { CollectionIndex } from "./collection-index.ts";

/** How many logs are searched one by one first. Each costs some 20 µs. */
const newestLogs = 16;

/** A record that search found: which log, and which number. The store reads the record itself. */
export interface IndexHit {
  readonly key: string;
  readonly seq: number;
}

/** Searches what the file of the index has: the logs in the order of lists, and of each the newest first. */
export function searchIndex(
  part: CollectionIndex,
  query: string,
  { limit, key, prefix }: SearchOptions,
): readonly IndexHit[] {
  const phrases = queryPhrases(query);
  if (phrases.length === 0) return [];
  // Only tokens get in here, which hold no quote: nothing that a person wrote is syntax.
  const words = phrases.map((tokens) => `"${tokens.join(" ")}"`).join(" AND ");
  const match = endsOpen(query, prefix) ? `${words} *` : words;
  return part.file.file.run(() => {
    if (key !== undefined) return searchLog(part, match, key, limit);
    return searchNewest(part, match, limit) ?? searchAll(part, match, limit);
  });
}

function searchLog(part: CollectionIndex, match: string, key: string, limit: number): IndexHit[] {
  const log = part.rowId(key);
  return log === undefined ? [] : part.numbers(log, match, limit).map((seq) => ({ key, seq }));
}

/**
 * The answer if the newest logs have it all. A common word is in nearly every log, and sorting all
 * that hold it would take as long as there are messages.
 */
function searchNewest(part: CollectionIndex, match: string, limit: number) {
  const hits: IndexHit[] = [];
  for (const row of part.file.sql.firstRows.iterate(part.collection, newestLogs)) {
    hits.push(...searchLog(part, match, String(row["key"]), limit - hits.length));
    if (hits.length === limit) return hits;
  }
  return undefined;
}

function searchAll(part: CollectionIndex, match: string, limit: number): IndexHit[] {
  const hits: IndexHit[] = [];
  for (const row of part.file.sql.searchAll.iterate(match, part.collection)) {
    const key = String(row["key"]);
    if (part.isRemoved(key)) continue;
    hits.push({ key, seq: Number(row["seq"]) });
    if (hits.length === limit) break;
  }
  return hits;
}
