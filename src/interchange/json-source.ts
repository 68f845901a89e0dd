import type { ErrorCode } from "../core/errors.ts";
import { isJsonObject, withNullForNaN } from "../core/json.ts";
import type { Source } from "./source.ts";

/** A file that is one JSON object is read at once: so it has a limit. */
const maxBytes = 64 * 1024 * 1024;

/** Why nothing of a file can be imported, and how large it is as far as it was read. */
export interface Unusable {
  readonly code: ErrorCode;
  readonly reason: string;
  readonly bytes: number;
}

/** The object that a source is, or why it is none. */
export async function readJsonSource(
  source: Source,
): Promise<{ readonly value: object } | Unusable> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source.bytes) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      const reason = `it is larger than ${maxBytes} bytes`;
      return { code: "THROUGHLINE_TOO_LARGE", reason, bytes };
    }
    chunks.push(chunk);
  }
  const code = "THROUGHLINE_INVALID";
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    return { code, reason: "it is not UTF-8", bytes };
  }
  let value: unknown;
  try {
    // Plain: what ours would alter is read, replaced and noted by whoever reads the fields.
    value = JSON.parse(withNullForNaN(text));
  } catch {
    return { code, reason: "it is not JSON", bytes };
  }
  return isJsonObject(value) ? { value } : { code, reason: "it is not an object", bytes };
}
