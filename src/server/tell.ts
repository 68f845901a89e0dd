import { isThroughlineError } from "../core/errors.ts";
import type { NewId } from "../core/ids.ts";
import type { Logger } from "../core/logger.ts";
import { type Problem, problem, problemOf } from "./problem.ts";

/** What the operator should hear of: not what a client did wrong. */
const oursToFix: readonly string[] = [
  "THROUGHLINE_CORRUPT",
  "THROUGHLINE_NEWER_FORMAT",
  "THROUGHLINE_OUTCOME_UNKNOWN",
  "THROUGHLINE_UNAVAILABLE",
];

/**
 * Makes of an error what the client is told, and logs what is not the client's doing. A defect is
 * named by an id in both places, and by nothing else to the client.
 */
export function reportError(
  ports: { readonly logger: Logger; readonly newId: NewId },
  error: unknown,
  about: { readonly route: string; readonly turnId?: string | undefined },
): Problem {
  const { route, turnId } = about;
  if (!isThroughlineError(error)) {
    const id = ports.newId();
    ports.logger.error({ route, id, ...traceOf(error) }, "a defect");
    const detail = `A defect of this server. Its log knows more, under ${id}.`;
    return problem("THROUGHLINE_INTERNAL", detail, turnId);
  }
  if (oursToFix.includes(error.code)) {
    ports.logger.error({ route, code: error.code, error: error.message }, "a request failed");
  }
  return problemOf(error, turnId);
}

/** Where it happened. Not the message of a stranger's error: it may quote what was said. */
function traceOf(error: unknown): object {
  if (!(error instanceof Error)) return { error: typeof error };
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return { error: error.name, at: frames.slice(0, 8).map((frame) => frame.trim()) };
}
