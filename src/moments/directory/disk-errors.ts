// What a failed disk call means for a package.
import { constants } from "node:os";
import { isCode, isFull, isNotAllowed } from "../../core/storage/files/file-ports.ts";
import type { SaveFailure } from "../package/package-sink.ts";

/** Something is there that is no file: a directory, a pipe, or a link, which is never followed. */
export const isNoFile = (error: unknown): boolean =>
  isCode(error, "EISDIR", "ELOOP", "ENOTDIR", "ENXIO");

export function failureOf(error: unknown): SaveFailure {
  // Node has no name for EDQUOT and says "Unknown system error -122".
  const { errno } = (error ?? {}) as { readonly errno?: unknown };
  const isOver = errno === -constants.errno.EDQUOT || isCode(error, "EFBIG");
  if (isOver || isFull(error)) return "disk_full";
  return isNotAllowed(error) ? "read_only" : "io";
}

/** A failure in a word, for logs: its code, or its name. */
export function codeOf(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  if (typeof code === "string") return code;
  return error instanceof Error ? error.name : "unknown";
}
