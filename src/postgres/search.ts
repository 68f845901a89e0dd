import { storedRecord } from "../core/storage/batch.ts";
import type { SearchHit, SearchOptions } from "../core/storage/log-store.ts";
import { endsOpen, holdsEvery, queryPhrases, searchTokens } from "../core/storage/search-words.ts";
import { searchLog, searchNewest, searchStatement } from "./list-statements.ts";
import type { PostgresStatement, Row } from "./pool.ts";
import type { IndexedPlace } from "./unindexed.ts";
import { anywhereQueryOf, queryOf } from "./words.ts";

/** Candidates of one page; more than most callers ask for, because some do not hold the phrase. */
const fewestCandidates = 50;

/**
 * Finds candidates through the full-text index, and among the records that have no words there yet, and
 * decides by their text. Looks through the newest logs first, whose order is known; then through all.
 */
export async function search(
  searched: IndexedPlace,
  query: string,
  { limit, key, prefix }: SearchOptions,
): Promise<readonly SearchHit[]> {
  const phrases = queryPhrases(query);
  if (phrases.length === 0) return [];
  const isOpen = endsOpen(query, prefix);
  const { database, companion, collection, scope } = searched;
  const holds = ({ record }: SearchHit) => {
    const text = searched.projection.text(record);
    return text !== undefined && holdsEvery(searchTokens(text), phrases, isOpen);
  };
  let count = Math.max(limit, fewestCandidates);
  if (key === undefined) {
    const values = [companion, collection, count, scope, anywhereQueryOf(phrases, isOpen)];
    const rows = await database.query({ ...searchNewest, values });
    const hits = rows.map(hitOf).filter(holds);
    if (hits.length >= limit) return hits.slice(0, limit);
  }
  const hits: SearchHit[] = [];
  let last: Row | undefined;
  for (;;) {
    const values = [companion, collection, count, queryOf({ phrases, isOpen }, scope, key)];
    const rows = await database.query(candidates(values, key, last));
    hits.push(...rows.map(hitOf).filter(holds));
    last = rows.at(-1);
    if (hits.length >= limit || rows.length < count) return hits.slice(0, limit);
    count = Math.min(1_000, count * 2);
  }
}

/** The statement for the candidates after this one. */
function candidates(
  values: readonly unknown[],
  key: string | undefined,
  last: Row | undefined,
): PostgresStatement {
  if (key !== undefined) {
    return { ...searchLog, values: [...values, key, last?.["seq"] ?? Number.MAX_SAFE_INTEGER] };
  }
  const place = last === undefined ? [] : [last["sorted_at"], last["key"], last["seq"]];
  return { ...searchStatement({ place: last !== undefined }), values: [...values, ...place] };
}

function hitOf(row: Row): SearchHit {
  const record = storedRecord(String(row["body"]), Number(row["seq"]));
  return { key: String(row["key"]), record };
}
