import { failing, invalid } from "./errors.ts";

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/**
 * Bounds of one value. They hold before anything is stored, because `JSON.parse` accepts what
 * `JSON.stringify` later cannot write: 10^7 levels against 10^4.
 */
export const jsonLimits = { depth: 64, keys: 10_000 } as const;

/**
 * Checks that a value is JSON that comes back equal: plain objects, arrays, strings, booleans, null
 * and finite numbers other than -0 and than whole numbers past 2^53; within `jsonLimits`; without
 * cycles (they are too deep).
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: not such a value; the message names the place.
 * @throws ThroughlineError `THROUGHLINE_TOO_LARGE`: too deep, or too many keys.
 */
export function checkJson(value: unknown, name: string): asserts value is Json {
  const left = { keys: jsonLimits.keys };
  checkValue(value, name, 0, left);
}

function checkValue(value: unknown, name: string, depth: number, left: { keys: number }): void {
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value) || value === 0) checkNumber(value, name);
    return;
  }
  if (typeof value !== "object")
    throw invalid(`${name} holds a ${typeof value}, which is not JSON`);
  if (depth >= jsonLimits.depth) {
    throw tooLarge(`${name} is nested deeper than ${jsonLimits.depth} levels`);
  }
  const isList = Array.isArray(value);
  const prototype: unknown = isList ? null : Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw invalid(`${name} holds an object that is not plain JSON`);
  }
  for (const item of isList ? value : Object.values(value)) {
    // A property that is undefined is not written, as JSON.stringify has it.
    if (item === undefined && !isList) continue;
    left.keys--;
    if (left.keys < 0) throw tooLarge(`${name} has more than ${jsonLimits.keys} keys and items`);
    if (typeof item !== "string") checkValue(item, name, depth + 1, left);
  }
}

function checkNumber(value: number, name: string): void {
  if (!Number.isFinite(value)) throw invalid(`${name} holds a number that is not finite`);
  if (Object.is(value, -0)) throw invalid(`${name} holds -0, which JSON text does not keep`);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw invalid(`${name} holds a whole number past 2^53: send it as a string`);
  }
}

/** Makes the error of what is larger or deeper than a call accepts. */
export const tooLarge = failing("THROUGHLINE_TOO_LARGE");

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Parses JSON text, refusing what `JSON.parse` would alter: whole numbers past 2^53 and numbers past
 * the range of a double. The caller bounds the length of the text.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`.
 */
export function parseJson(text: string, name: string): Json {
  checkDepthOfText(text, name);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    // The cause's message quotes the text, which may be a diary: it is left out.
    throw invalid(`${name} is not JSON (${cause instanceof Error ? cause.name : "unknown"})`);
  }
  checkJson(value, name);
  return value;
}

/**
 * Writes JSON whose texts every reader takes: a lone surrogate, which `JSON.stringify` escapes, becomes U+FFFD.
 */
export function wellFormedJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text.includes("\\ud")) return text;
  return text.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "$1\ufffd");
}

/** Replaces lone surrogates in all texts of plain objects and lists by U+FFFD; anything else stays as it is. */
export function wellFormed<T>(value: T): T {
  if (typeof value === "string") return value.toWellFormed() as T;
  if (Array.isArray(value)) return value.map((item) => wellFormed(item)) as T;
  if (typeof value !== "object" || value === null) return value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, wellFormed(item)]),
  ) as T;
}

/** Freezes plain data, as deep as it goes, and gives it back. */
export function freezeDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freezeDeep(inner);
  return Object.freeze(value);
}

/**
 * JSON text as Python writes it, with `null` for the numbers that JSON has no word for: `NaN`,
 * `Infinity` and `-Infinity` outside strings. Every reader of a field takes that for a value of the
 * wrong type. Other text stays as it is.
 */
export function withNullForNaN(text: string): string {
  const words = /-?\b(?:NaN|Infinity)\b/g;
  let read = "";
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    const stringAt = quote < 0 ? text.length : quote;
    const end = endOfString(text, stringAt);
    read += text.slice(at, stringAt).replace(words, "null") + text.slice(stringAt, end);
    at = end;
  }
  return read;
}

/** Past the quote that closes a string; one that is not closed ends with the text. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x5c) i++;
    else if (code === 0x22) return i + 1;
  }
  return text.length;
}

/** Counts brackets outside strings, so that hostile depth is refused before it is parsed. */
function checkDepthOfText(text: string, name: string): void {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 0x5c) i++;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > jsonLimits.depth) {
        throw tooLarge(`${name} is nested deeper than ${jsonLimits.depth} levels`);
      }
    } else if (code === 0x5d || code === 0x7d) depth--;
  }
}

/** The bytes that a value takes as JSON; of a text without its quotes. */
export function jsonBytes(value: object | string): number {
  const bytes = Buffer.byteLength(JSON.stringify(value));
  return typeof value === "string" ? bytes - 2 : bytes;
}

/** As much of a text as takes at most so many bytes of JSON: whole code points from its start. */
export function fitText(text: string, maxBytes: number): string {
  if (text.length <= maxBytes && jsonBytes(text) <= maxBytes) return text;
  let end = 0;
  let bytes = 0;
  for (const point of text) {
    bytes += jsonBytes(point);
    if (bytes > maxBytes) break;
    end += point.length;
  }
  return text.slice(0, end);
}
