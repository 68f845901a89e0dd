import { invalid } from "../errors.ts";
import { tooLarge } from "../json.ts";

/**
 * Checks a key: 1 to `maxBytes` bytes of well-formed Unicode without NUL. Every other text is a key
 * of its own: `..`, `a/b`, `Chat` and `chat`, `__proto__` are four different logs.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`.
 */
export function checkKey(key: unknown, name: string, maxBytes: number): asserts key is string {
  if (typeof key !== "string") throw invalid(`${name} must be a string`);
  if (key === "") throw invalid(`${name} must not be empty`);
  if (key.includes("\0")) throw invalid(`${name} must not hold NUL`);
  if (!key.isWellFormed()) throw invalid(`${name} must not hold lone surrogates`);
  if (isLongerThan(key, maxBytes)) throw tooLarge(`${name} is longer than ${maxBytes} bytes`);
}

/** Whether a text has more bytes than that in UTF-8. Short texts are not counted. */
export function isLongerThan(text: string, maxBytes: number): boolean {
  // A UTF-16 unit is one to three bytes.
  return text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes;
}

/** Checks a count such as a page's limit: a whole number from `min` to `max`. */
export function checkCount(value: unknown, name: string, min: number, max: number): void {
  if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) {
    throw invalid(`${name} must be a whole number from ${min} to ${max}`);
  }
}
