import { isThroughlineError } from "../core/errors.ts";
import { isJsonObject, type JsonObject, parseJson } from "../core/json.ts";

const lineFeed = 0x0a;

/** A line as it lies in the file, without its line feed. */
export interface Line {
  /** From 1. */
  readonly number: number;
  /** Of its first byte, from the start of the file. */
  readonly offset: number;
  readonly bytes: Uint8Array;
  /**
   * `"whole"`: the bytes are the line. A longer line comes in pieces, `"start"` and then `"rest"`,
   * so that it needs no more memory than its pieces do.
   */
  readonly part: "whole" | "start" | "rest";
}

/**
 * Splits bytes at 0x0A and at nothing else: U+2028 and a bare CR are content. An empty
 * last line is no line. Lines of up to `maxBytes` come whole.
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Line> {
  let kept: Uint8Array[] = [];
  let keptBytes = 0;
  let number = 1;
  let offset = 0;
  let isLong = false;
  const take = (part: Line["part"]): Line => {
    const line = { number, offset, bytes: Buffer.concat(kept), part };
    offset += keptBytes;
    kept = [];
    keptBytes = 0;
    return line;
  };
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length; ) {
      const end = chunk.indexOf(lineFeed, from);
      const piece = chunk.subarray(from, end === -1 ? chunk.length : end);
      kept.push(piece);
      keptBytes += piece.length;
      if (keptBytes > maxBytes) {
        yield take(isLong ? "rest" : "start");
        isLong = true;
      }
      if (end === -1) break;
      if (!isLong) yield take("whole");
      else if (keptBytes > 0) yield take("rest");
      kept = [];
      offset++;
      number++;
      isLong = false;
      from = end + 1;
    }
  }
  if (keptBytes > 0) yield take(isLong ? "rest" : "whole");
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
