import { isJsonObject, withNullForNaN } from "../core/json.ts";
import type { Source } from "./source.ts";

/** A file that is one JSON object is read at once: so it has a limit. */
const maxBytes = 64 * 1024 * 1024;

/** The object that a source is, or why it is none. */
export async function readJsonSource(
  source: Source,
): Promise<{ readonly value: object } | { readonly reason: string; readonly bytes: number }> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source.bytes) {
    bytes += chunk.length;
    if (bytes > maxBytes) return { reason: `it is larger than ${maxBytes} bytes`, bytes };
    chunks.push(chunk);
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    return { reason: "it is not UTF-8", bytes };
  }
  let value: unknown;
  try {
    // Plain: what ours would alter is read, replaced and noted by whoever reads the fields.
    value = JSON.parse(withNullForNaN(text));
  } catch {
    return { reason: "it is not JSON", bytes };
  }
  return isJsonObject(value) ? { value } : { reason: "it is not an object", bytes };
}
