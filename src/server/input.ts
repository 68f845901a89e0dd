import type { z } from "zod";
import { invalid } from "../core/errors.ts";
import { issueLine } from "../core/issue-line.ts";
import { isDecodable } from "./guard.ts";

/** Reads what a client sent as what the route takes. @throws ThroughlineError `THROUGHLINE_INVALID`. */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  where: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.slice(0, 5).map((issue) => issueLine(issue, where));
  throw invalid(lines.join("; "));
}

/**
 * The parameters of a query, each at most once.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: twice the same name, a broken percent-encoding.
 */
export function queryOf(url: URL): Record<string, string> {
  if (!isDecodable(url.search)) throw invalid("the query is not well encoded");
  const pairs = [...url.searchParams];
  const names = new Set(pairs.map(([name]) => name));
  if (names.size < pairs.length) throw invalid("a query parameter comes at most once");
  return Object.fromEntries(pairs);
}
