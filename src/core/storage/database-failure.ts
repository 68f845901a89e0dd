import { isThroughlineError, ThroughlineError } from "../errors.ts";

/** A failure of the database or of the connection to it: an error shown says where to look. */
export class DatabaseFailure extends ThroughlineError {}

/** Whether only this log cannot be read, and not the whole store. */
export function isFaultOfLog(error: unknown): error is ThroughlineError {
  if (!isThroughlineError(error) || error instanceof DatabaseFailure) return false;
  const codes = ["THROUGHLINE_UNAVAILABLE", "THROUGHLINE_CORRUPT", "THROUGHLINE_NEWER_FORMAT"];
  return codes.includes(error.code);
}
