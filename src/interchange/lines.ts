import { isThroughlineError } from "../core/errors.ts";
import { isJsonObject, type JsonObject, parseJson } from "../core/json.ts";

const lineFeed = 0x0a;

/** A line as it lies in the file. */
export interface Line {
  /** From 1. */
  readonly number: number;
  /** Of its first byte, from the start of the file. */
  readonly offset: number;
  /** In bytes, without its line feed. */
  readonly length: number;
  /** Absent: it is longer than was asked for, and was read without being kept. */
  readonly bytes: Uint8Array | undefined;
}

/**
 * Splits bytes at 0x0A and at nothing else: U+2028 and a bare CR are content. An empty
 * last line is no line.
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Line> {
  let kept: Uint8Array[] = [];
  let number = 1;
  let offset = 0;
  let length = 0;
  const take = (): Line => {
    const bytes = length > maxBytes ? undefined : Buffer.concat(kept);
    const line = { number, offset, length, bytes };
    number++;
    offset += length + 1;
    kept = [];
    length = 0;
    return line;
  };
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length; ) {
      const end = chunk.indexOf(lineFeed, from);
      const piece = chunk.subarray(from, end === -1 ? chunk.length : end);
      length += piece.length;
      if (length > maxBytes) kept = [];
      else kept.push(piece);
      if (end === -1) break;
      yield take();
      from = end + 1;
    }
  }
  if (length > 0) yield take();
}

type ReadLine =
  | { readonly object: JsonObject /** What was put right. */; readonly notes: readonly string[] }
  | { readonly reason: string };

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const padding = /^[\s\0\ufeff]*|[\s\0\ufeff]*$/g;

/**
 * The object in one line, or why there is none. White space, a byte order mark and NUL bytes around it are passed
 * over. `undefined`: the line is empty. Nothing throws.
 */
export function readLine(bytes: Uint8Array): ReadLine | undefined {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return { reason: "it is not UTF-8" };
  }
  const trimmed = text.replace(padding, "");
  const hasNul = text.includes("\0");
  if (trimmed === "") return hasNul ? { reason: "NUL bytes" } : undefined;
  const read = parse(trimmed);
  if ("reason" in read || !hasNul) return read;
  return { ...read, notes: ["NUL bytes around a record", ...read.notes] };
}

function parse(text: string): ReadLine {
  let value: unknown;
  const notes: string[] = [];
  try {
    value = parseJson(text, "it");
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    if (error.code === "THROUGHLINE_TOO_LARGE") return { reason: error.message };
    try {
      // Numbers that ours would alter, and others write: kept as the text that they were.
      const written = JSON.parse(text, numbersAsTheyWere as (key: string, v: unknown) => unknown);
      value = parseJson(JSON.stringify(written), "it");
      notes.push("a number that cannot be kept exactly became text");
    } catch {
      return { reason: "it is not JSON" };
    }
  }
  return isJsonObject(value)
    ? { object: value, notes }
    : { reason: "it is JSON, and not an object" };
}

function numbersAsTheyWere(
  _: string,
  value: unknown,
  context: { readonly source: string },
): unknown {
  if (typeof value !== "number") return value;
  const isExact = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
  return isExact && !Object.is(value, -0) ? value : context.source;
}
