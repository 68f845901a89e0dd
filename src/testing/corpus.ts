import type { ErrorCode } from "../core/errors.ts";
import type { Json, JsonObject } from "../core/json.ts";

/** A text that has damaged a store somewhere, and what it is called in the name of a test. */
export interface CorpusText {
  /** Lower case with dashes. */
  readonly name: string;
  readonly text: string;
}

/** Texts that come back equal, unit by unit, wherever a text is stored. */
export const textCorpus: readonly CorpusText[] = [
  { name: "empty", text: "" },
  { name: "white-space", text: " \t leading and trailing \t " },
  { name: "nul", text: "a\0b\0" },
  { name: "every-control-character", text: codeUnits(0, 0x20) + codeUnits(0x7f, 0xa0) },
  { name: "high-surrogate-alone", text: "a\ud83db" },
  { name: "low-surrogate-alone", text: "a\ude00b" },
  { name: "surrogates-swapped", text: "a\ude00\ud83db" },
  { name: "two-high-surrogates", text: "\ud83d\ud83d\ude00" },
  { name: "high-surrogate-last", text: "cut in the middle of an emoji \ud83d" },
  { name: "low-surrogate-first", text: "\ude00 the other half" },
  { name: "escaped-surrogate-as-text", text: String.raw`\ud83d \u0000 \n \\ \"` },
  { name: "line-separators", text: "a\u2028b\u2029c\u0085d" },
  { name: "bare-carriage-return", text: "one\rtwo\r" },
  { name: "crlf", text: "one\r\ntwo\n\nthree" },
  { name: "byte-order-mark", text: "\ufefffirst \ufeff middle\ufeff" },
  { name: "bidi-marks", text: "\u202eabc\u202c \u2067אבג\u2069 \u200f\u061c" },
  { name: "emoji", text: "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 👍🏽 ❤️" },
  { name: "combining", text: `e\u0301 é ${"z\u0335\u0321\u0322".repeat(40)}` },
  { name: "last-code-points", text: "\u{10ffff}\u{fffe}\uffff\ufdd0" },
  { name: "replacement-character", text: "\ufffd is what lost bytes look like" },
  { name: "json-text", text: '{"_type":"metadata","id":"x","seq":7}\n{"kind":"erased"}' },
  { name: "sql-text", text: "'); DROP TABLE records; -- $1 ? % _ \\' \"" },
  { name: "path-text", text: "../../etc/passwd\\..\\C:\\con" },
  { name: "every-code-unit", text: codeUnits(0, 0x10000) },
  { name: "every-code-unit-backwards", text: [...codeUnits(0, 0x10000)].reverse().join("") },
  { name: "long-word", text: "a".repeat(100_000) },
  { name: "long-wide", text: "日本語😀".repeat(20_000) },
];

/** JSON objects that come back equal, own key by own key. */
export const valueCorpus: readonly { readonly name: string; readonly value: JsonObject }[] = [
  { name: "proto-key", value: JSON.parse('{"__proto__":{"polluted":true}}') as JsonObject },
  { name: "proto-key-text", value: JSON.parse('{"__proto__":"x","b":1}') as JsonObject },
  {
    name: "constructor-keys",
    value: { constructor: 1, prototype: 2, toString: 3, hasOwnProperty: 4 },
  },
  { name: "integer-keys", value: { b: 1, "10": 2, "2": 3, "-1": 4, "01": 5 } },
  { name: "empty-key", value: { "": 1, " ": 2 } },
  { name: "odd-keys", value: { "\0": 1, "\ud800": 2, "\u2028": 3, é: 4, "e\u0301": 5, length: 6 } },
  {
    name: "numbers",
    value: { numbers: [0, 1, -1, 0.1, 1e-7, 5e-324, 4.35, 2 ** 53 - 1, 1 - 2 ** 53] },
  },
  { name: "empty-values", value: { a: {}, b: [], c: null, d: "", e: false, f: [[], {}, null] } },
  { name: "control-record", value: { _type: "metadata", kind: "session", key: "other" } },
  { name: "deep", value: { deep: nested(61) } },
  { name: "wide", value: { wide: Array.from({ length: 9_000 }, (_, index) => index) } },
];

/** Keys that are each a key of its own, on every disk and in every database. */
export const keyCorpus: readonly CorpusText[] = [
  { name: "plain", text: "telegram:42" },
  { name: "prefix", text: "telegram:4" },
  { name: "extended", text: "telegram:42:1" },
  { name: "slash-for-colon", text: "telegram/42" },
  { name: "underscore-for-colon", text: "telegram_42" },
  { name: "leading-space", text: " telegram:42" },
  { name: "dot", text: "." },
  { name: "parent-directory", text: ".." },
  { name: "path", text: "a/b" },
  { name: "absolute-path", text: "/etc/passwd" },
  { name: "backslash", text: "\\" },
  { name: "backslash-path", text: "a\\b" },
  { name: "device", text: "CON" },
  { name: "device-lower-case", text: "con" },
  { name: "device-with-extension", text: "aux.txt" },
  { name: "trailing-dot", text: "a." },
  { name: "trailing-space", text: "a " },
  { name: "one-letter", text: "a" },
  { name: "upper-case", text: "Chat" },
  { name: "lower-case", text: "chat" },
  { name: "nfc", text: "caf\u00e9" },
  { name: "nfd", text: "cafe\u0301" },
  { name: "dotted-capital-i", text: "İ" },
  { name: "dotless-i", text: "ı" },
  { name: "sharp-s", text: "ß" },
  { name: "double-s", text: "ss" },
  { name: "direction-marks", text: "\u200fa\u202eb" },
  { name: "zero-width", text: "a\u200b" },
  { name: "byte-order-mark", text: "\ufeffa" },
  { name: "emoji", text: "👩‍👧" },
  { name: "percent", text: "a%2fb" },
  { name: "like-pattern", text: "%_*?[a]" },
  { name: "control-characters", text: "a\nb\tc\u001b" },
  { name: "line-separator", text: "a\u2028b" },
  { name: "quotes", text: "'; \"--" },
  { name: "proto", text: "__proto__" },
  { name: "constructor", text: "constructor" },
  { name: "number", text: "0" },
  { name: "file-name", text: "a.jsonl" },
  { name: "300-characters", text: "k".repeat(300) },
  { name: "300-other-characters", text: `${"k".repeat(299)}l` },
  { name: "1024-bytes", text: "é".repeat(512) },
];

/** A value that a call refuses, and what it is called in the name of a test. */
export interface RefusedValue {
  readonly name: string;
  readonly value: unknown;
}

/** Values that are no JSON, or would not come back equal: refused with `THROUGHLINE_INVALID`. */
export const refusedValues: readonly RefusedValue[] = [
  { name: "nan", value: Number.NaN },
  { name: "infinity", value: Number.POSITIVE_INFINITY },
  { name: "minus-infinity", value: Number.NEGATIVE_INFINITY },
  { name: "minus-zero", value: -0 },
  { name: "past-2-to-the-53", value: 2 ** 53 },
  { name: "past-minus-2-to-the-53", value: -(2 ** 53) },
  { name: "undefined-item", value: [1, undefined] },
  { name: "hole", value: new Array(2) },
  { name: "function", value: () => 1 },
  { name: "symbol", value: Symbol("s") },
  { name: "bigint", value: 1n },
  { name: "date", value: new Date(0) },
  { name: "map", value: new Map([["a", 1]]) },
  { name: "bytes", value: new Uint8Array(2) },
  { name: "boxed-text", value: Object("text") },
];

/** Counts that no call takes as a limit. */
export const refusedLimits: readonly RefusedValue[] = [
  { name: "negative", value: -1 },
  { name: "1001", value: 1_001 },
  { name: "fraction", value: 0.5 },
  { name: "nan", value: Number.NaN },
  { name: "text", value: "10" },
  { name: "none", value: undefined },
];

/** The limit that `tail` takes and no other call does. */
export const zeroLimit: RefusedValue = { name: "0", value: 0 };

/** Numbers that no call takes for a seq or a revision that it is to expect. */
export const refusedPositions: readonly RefusedValue[] = [
  { name: "negative", value: -1 },
  { name: "fraction", value: 0.5 },
  { name: "nan", value: Number.NaN },
  { name: "infinity", value: Number.POSITIVE_INFINITY },
  { name: "2-to-the-53", value: 2 ** 53 },
  { name: "text", value: "1" },
  { name: "null", value: null },
];

/** Keys that every call refuses, and how. */
export const refusedKeys: readonly (RefusedValue & { readonly code: ErrorCode })[] = [
  { name: "empty", value: "", code: "THROUGHLINE_INVALID" },
  { name: "nul", value: "a\0b", code: "THROUGHLINE_INVALID" },
  {
    name: "lone-surrogate",

    value: "a\ud800",
    code: "THROUGHLINE_INVALID",
  },
  { name: "number", value: 42, code: "THROUGHLINE_INVALID" },
  { name: "null", value: null, code: "THROUGHLINE_INVALID" },
  { name: "object", value: { length: 1 }, code: "THROUGHLINE_INVALID" },
  {
    name: "1025-bytes",

    value: "a".repeat(1025),
    code: "THROUGHLINE_TOO_LARGE",
  },
  {
    name: "513-characters",

    value: "é".repeat(513),
    code: "THROUGHLINE_TOO_LARGE",
  },
];

/** An object that is nested so many levels deep: 1 is `{}`. */
export function nested(levels: number): Json {
  let value: Json = {};
  for (let level = 1; level < levels; level++) value = { in: value };
  return value;
}

/** Every UTF-16 unit from `first` to the one before `end`, in order. */
function codeUnits(first: number, end: number): string {
  return Array.from({ length: end - first }, (_, index) => String.fromCharCode(first + index)).join(
    "",
  );
}
