import { isThroughlineError } from "../errors.ts";

/** What a log may say of any error: its code or its name. A message may hold what a person said. */
export function errorName(error: unknown): string {
  if (isThroughlineError(error)) return error.code;
  return error instanceof Error ? error.name : typeof error;
}
