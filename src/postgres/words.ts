import { createHash } from "node:crypto";
import { searchTokens } from "../core/storage/search-words.ts";

/**
 * What stands in the full-text index for a record, as lexemes: its distinct tokens, the collection
 * that it is in, and its log. Tokens hold no punctuation, so none can be taken for the others.
 */

/** Longer tokens are looked up by their hash; what is found is compared by its text anyway. */
const longestToken = 64;
/** The lexemes of one record have at most so many characters: a text search vector ends at 1 MiB. */
const mostCharacters = 200_000;
/** Stands for every token, in records that have too many. */
const anyToken = "*";

/** Names a collection of a companion in the index. */
export function scopeOf(companion: string, collection: string): string {
  return hash(JSON.stringify([companion, collection]));
}

/** The lexemes that every record of a log has. */
export function placesOf(scope: string, key: string): string {
  return `${scopeLexeme(scope)} ${logLexeme(scope, key)}`;
}

/** The lexemes of a text, with spaces between them; `null` if there is nothing to find. */
export function lexemesOf(text: string, places: string): string | null {
  const tokens = new Set(searchTokens(text));
  if (tokens.size === 0) return null;
  const all = Array.from(tokens, lexemeOf).join(" ");
  return `${places} ${all.length > mostCharacters ? anyToken : all}`;
}

/**
 * The query, as the text of a `tsquery`, for every record that can hold these phrases: in one log, or
 * in the whole collection. Holds nothing that a person wrote but letters and digits.
 */
export function queryOf(
  { phrases, isOpen }: { readonly phrases: readonly string[][]; readonly isOpen: boolean },
  scope: string,
  key?: string,
): string {
  const place = key === undefined ? scopeLexeme(scope) : logLexeme(scope, key);
  return `'${place}' & ${anywhereQueryOf(phrases, isOpen)}`;
}

/**
 * The same for every place; for a query that says the place itself.
 *
 * @param isOpen the last token stands for those that begin with it, but for tokens that are looked up by
 *   their hash.
 */
export function anywhereQueryOf(phrases: readonly string[][], isOpen: boolean): string {
  const lexemes = phrases.flat().map((token) => `'${lexemeOf(token)}'`);
  if (isOpen) lexemes.push(`${lexemes.pop()}:*`);
  return `(${[...new Set(lexemes)].join(" & ")} | '${anyToken}')`;
}

/** The lexeme of the log in the row `log`, in SQL, the scope being this parameter: see `logLexeme`. */
export function logLexemeSql(scope: string): string {
  return `'=' || left(encode(sha256(convert_to(${scope} || log.key, 'UTF8')), 'hex'), 16)`;
}

function scopeLexeme(scope: string): string {
  return `~${scope}`;
}

function logLexeme(scope: string, key: string): string {
  return `=${hash(scope + key)}`;
}

function lexemeOf(token: string): string {
  return token.length <= longestToken ? token : `#${hash(token)}`;
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
