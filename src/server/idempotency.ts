import { createHash } from "node:crypto";
import { invalid } from "../core/errors.ts";

/**
 * The id of the message that a key stands for, so that the log itself remembers the key: the same
 * key is the same message, also after a restart.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: not 1 to 255 printable ASCII characters.
 */
export function messageIdFor(key: string): string {
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw invalid("Idempotency-Key must be 1 to 255 printable ASCII characters");
  }
  return `i_${createHash("sha256").update(key).digest("hex").slice(0, 32)}`;
}

/** The same for a retry: shorter, because it becomes part of an id. */
export function retryIdFor(key: string): string {
  return messageIdFor(key).replace("i_", "r_");
}
