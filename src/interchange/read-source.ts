import { createHash } from "node:crypto";
import { conflict, invalid } from "../core/errors.ts";
import { isJsonObject, tooLarge, withNullForNaN } from "../core/json.ts";
import type { Source } from "./import.ts";

/** How much a reading saw. */
interface Size {
  readonly bytes: number;
  /** SHA-256 in hex. */
  readonly digest: string;
}

/** The bytes that an earlier reading saw, and no more of a file that is growing. */
export async function* sameBytes({
  source,
  bytes,
  digest,
}: Size & { readonly source: Source }): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  let left = bytes;
  for await (const chunk of source.bytes) {
    const part = chunk.subarray(0, left);
    hash.update(part);
    left -= part.length;
    yield part;
    if (left === 0) break;
  }
  if (left === 0 && hash.digest("hex") === digest) return;
  throw conflict(`${source.name} changed while it was read`);
}

/** Whether a source begins with what an earlier reading saw, and goes on with another line. */
export async function isGrown(source: Source, { bytes, digest }: Size): Promise<boolean> {
  const hash = createHash("sha256");
  let left = bytes;
  for await (const chunk of source.bytes) {
    hash.update(chunk.subarray(0, left));
    if (chunk.length > left) return hash.digest("hex") === digest;
    left -= chunk.length;
  }
  return false;
}

/** Passes bytes on, and then says how many they were and what their digest is. */
export function measured(bytes: AsyncIterable<Uint8Array>): {
  readonly chunks: AsyncIterable<Uint8Array>;
  size(): Size;
} {
  const hash = createHash("sha256");
  let count = 0;
  const chunks = async function* () {
    for await (const chunk of bytes) {
      hash.update(chunk);
      count += chunk.length;
      yield chunk;
    }
  };
  return { chunks: chunks(), size: () => ({ bytes: count, digest: hash.copy().digest("hex") }) };
}

/** A file that is one JSON object is read at once: so it has a limit. */
const maxBytes = 64 * 1024 * 1024;

/**
 * The object that a source is.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`.
 */
export async function readJsonSource(source: Source): Promise<object> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source.bytes) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(`it is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch (cause) {
    throw invalid("it is not UTF-8", cause);
  }
  let value: unknown;
  try {
    // Not our own parser: each field is checked by the code that reads it.
    value = JSON.parse(withNullForNaN(text));
  } catch {
    // biome-ignore lint/style/useErrorCause: its message quotes the file.
    throw invalid("it is not JSON");
  }
  if (!isJsonObject(value)) throw invalid("it is not an object");
  return value;
}
