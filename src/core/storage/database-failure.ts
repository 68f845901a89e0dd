import { isThroughlineError, ThroughlineError } from "../errors.ts";

/** What the database, or the way to it, is to blame for: whoever tells it to a person tells where to look. */
export class DatabaseFailure extends ThroughlineError {}

/** Whether only this log cannot be read, and not the whole store. */
export function isFaultOfLog(error: unknown): error is ThroughlineError {
  if (!isThroughlineError(error) || error instanceof DatabaseFailure) return false;
  const codes = ["THROUGHLINE_UNAVAILABLE", "THROUGHLINE_CORRUPT", "THROUGHLINE_NEWER_FORMAT"];
  return codes.includes(error.code);
}
