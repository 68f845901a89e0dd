// What a failed disk call means for a package. By number as well as by code: Node has no name for
// EDQUOT and says "Unknown system error -122".
import { constants } from "node:os";
import { isThroughlineError, ThroughlineError } from "../../core/errors.ts";

/** Why no package came of a moment; the words of a receipt. */
type SaveFailure = "disk_full" | "read_only" | "io" | "redaction_failed";

const { ENOSPC, EDQUOT, EFBIG, EROFS, EACCES, EPERM, ENOENT } = constants.errno;
const { EISDIR, ELOOP, ENOTDIR, ENXIO } = constants.errno;
const full: readonly number[] = [ENOSPC, EDQUOT, EFBIG];
const refused: readonly number[] = [EROFS, EACCES, EPERM];

/** The number of a failed system call, positive; by its code where there is only that. */
export function errnoOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  if ("errno" in error && typeof error.errno === "number") return Math.abs(error.errno);
  const codes: Readonly<Record<string, number>> = constants.errno;
  return "code" in error && typeof error.code === "string" ? codes[error.code] : undefined;
}

export const isGone = (error: unknown): boolean => isOneOf(error, [ENOENT]);
/** Something is there that is no file: a directory, a pipe, or a link, which is never followed. */
export const isNoFile = (error: unknown): boolean =>
  isOneOf(error, [EISDIR, ELOOP, ENOTDIR, ENXIO]);

function isOneOf(error: unknown, numbers: readonly number[]): boolean {
  const number = errnoOf(error);
  return number !== undefined && numbers.includes(number);
}

export function failureOf(error: unknown): Exclude<SaveFailure, "redaction_failed"> {
  if (isOneOf(error, full)) return "disk_full";
  return isOneOf(error, refused) ? "read_only" : "io";
}

/** A sync that failed: what it should have kept may be gone, whatever a read shows. Never retried. */
export class SyncFailed extends Error {
  override readonly name = "SyncFailed";
  constructor(message: string, options: { readonly cause: unknown }) {
    super(message, options);
  }
}

/** The failure of the disk itself, without what we know about it. */
export function diskCause(error: unknown): unknown {
  return error instanceof SyncFailed ? error.cause : error;
}

/** An error of the disk as one of ours: `what` names the thing. Errors of ours pass. */
export function unreachable(what: string, error: unknown): ThroughlineError {
  if (isThroughlineError(error)) return error;
  return new ThroughlineError(`${what}: the disk refused (${codeOf(error)})`, {
    code: "THROUGHLINE_UNAVAILABLE",
    cause: diskCause(error),
  });
}

/** A failure in a word, for logs: its code, or its name. */
export function codeOf(error: unknown): string {
  const cause = diskCause(error);
  const code = (cause as { readonly code?: unknown } | null | undefined)?.code;
  if (typeof code === "string") return code;
  return cause instanceof Error ? cause.name : "unknown";
}
