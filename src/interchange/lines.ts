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

/** Bytes that nothing could be made of: where in the line they begin, and why. */
interface Unreadable {
  readonly start: number;
  readonly end: number;
  readonly reason: string;
}

interface ReadLine {
  /** Usually one. */
  readonly objects: readonly JsonObject[];
  readonly unreadable: readonly Unreadable[];
  /** What was put right: sentences that quote nothing. */
  readonly notes: readonly string[];
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const padding = /^[\s\0\ufeff]*|[\s\0\ufeff]*$/g;
const nothing: ReadLine = { objects: [], unreadable: [], notes: [] };

/**
 * The objects in one line. A line is one object; a file that a crash tore may have several without a
 * line break between them, or NUL bytes around them. White space and a byte order mark are passed
 * over. Everything else is unreadable; nothing throws.
 */
export function readLine(bytes: Uint8Array): ReadLine {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return unreadable(bytes, "it is not UTF-8");
  }
  const trimmed = text.replace(padding, "");
  const notes = text.includes("\0") && trimmed !== "" ? ["NUL bytes around a record"] : [];
  if (trimmed === "") return text.includes("\0") ? unreadable(bytes, "NUL bytes") : nothing;
  const whole = parse(trimmed);
  if (whole.value !== undefined) {
    if (!isJsonObject(whole.value)) return unreadable(bytes, "it is JSON, and not an object");
    return { ...nothing, objects: [whole.value], notes: [...notes, ...whole.notes] };
  }
  const parts = glued(text);
  return parts.objects.length === 0 ? unreadable(bytes, whole.reason) : parts;
}

function unreadable(bytes: Uint8Array, reason: string): ReadLine {
  return { ...nothing, unreadable: [{ start: 0, end: bytes.length, reason }] };
}

interface Parsed {
  readonly value?: unknown;
  readonly reason: string;
  readonly notes: readonly string[];
}

function parse(text: string): Parsed {
  try {
    return { value: parseJson(text, "it"), reason: "", notes: [] };
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    if (error.code === "THROUGHLINE_TOO_LARGE") return { reason: error.message, notes: [] };
  }
  try {
    // Numbers that ours would alter, and others write: kept as the text that they were.
    const value: unknown = JSON.parse(
      text,
      numbersAsTheyWere as (key: string, v: unknown) => unknown,
    );
    parseJson(JSON.stringify(value), "it");
    return { value, reason: "", notes: ["a number that cannot be kept exactly became text"] };
  } catch {
    return { reason: "it is not JSON", notes: [] };
  }
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

/**
 * Objects that stand side by side. Only what says that it is a message or a metadata line is taken,
 * because the line is damaged. No content can pass for one: quotes within it are escaped, and so it
 * is no JSON by itself.
 */
function glued(text: string): ReadLine {
  const objects: JsonObject[] = [];
  const bad: Unreadable[] = [];
  const notes = ["several records in one line"];
  let badFrom = 0;
  const setAside = (to: number) => {
    if (text.slice(badFrom, to).replace(padding, "") === "") return;
    const start = Buffer.byteLength(text.slice(0, badFrom));
    const end = start + Buffer.byteLength(text.slice(badFrom, to));
    bad.push({ start, end, reason: "it is not JSON" });
  };
  for (const [start, end] of balanced(text)) {
    const { value, notes: found } = parse(text.slice(start, end));
    if (!isJsonObject(value) || !("role" in value || "_type" in value)) continue;
    setAside(start);
    objects.push(value);
    notes.push(...found);
    badFrom = end;
  }
  setAside(text.length);
  return { objects, unreadable: bad, notes };
}

/** Where braces open and close again, outside of strings. */
function* balanced(text: string): Generator<readonly [start: number, end: number]> {
  let depth = 0;
  let start = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 0x5c) i++;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22 && depth > 0) inString = true;
    else if (code === 0x7b) {
      if (depth++ === 0) start = i;
    } else if (code === 0x7d && depth > 0 && --depth === 0) yield [start, i + 1];
  }
}
